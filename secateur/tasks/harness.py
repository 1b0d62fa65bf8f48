"""lm-evaluation-harness on a network of ours or any causal language model. This file imports `lm_eval`: import it late."""

from __future__ import annotations

import contextlib
import difflib
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lm_eval
import lm_eval.tasks
import torch
from lm_eval.models.huggingface import HFLM

from secateur.errors import ConfigurationError, DataError, ModelError, one_line

#: Where lm_eval keeps its own tasks.
STOCK = Path(lm_eval.tasks.__file__).parent
#: Folders of stock tasks whose names do not say them.
_SUPER_GLUE = ("boolq", "cb", "copa", "multirc", "record", "sglue_rte", "wic", "wsc")


class Adapter(HFLM):  # type: ignore[misc]
    """A causal language model and its tokenizer as the harness wants them.

    `_loglikelihood_tokens` says which choice is too long for the model, where the harness would only fail an assertion.
    """

    def __init__(self, model: Any, tokenizer: Any, batch_size: int) -> None:
        ends = (getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "cls", "sep"))
        prefix = next((token for token in ends if token is not None), None)
        if prefix is None:
            raise ModelError(
                "the tokenizer has no token that begins or ends a text, and the harness needs one for empty prompts. "
                "Set its `bos_token` or `eos_token` and save it again."
            )
        super().__init__(
            pretrained=model,
            backend="causal",
            tokenizer=tokenizer,
            batch_size=batch_size,
            # A frame as BERT's would end the prompt before the answer begins.
            add_bos_token=False if _ends_texts(tokenizer) else None,
            prefix_token_id=prefix,
        )

    def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> Any:
        return super().loglikelihood(requests, disable_tqdm=disable_tqdm or not sys.stderr.isatty())

    def _loglikelihood_tokens(self, requests: Any, *arguments: Any, **settings: Any) -> Any:
        for _, _, continuation in requests:
            if len(continuation) > self.max_length:
                raise DataError(
                    f"a text to be scored has {len(continuation)} tokens, and the model takes at most {self.max_length}. "
                    "Use another task, or a model with a longer context."
                )
        return super()._loglikelihood_tokens(requests, *arguments, **settings)


def _ends_texts(tokenizer: Any) -> bool:
    """Whether the tokenizer puts a special token behind a text."""
    bare = tokenizer.encode("a", add_special_tokens=False)
    framed = tokenizer.encode("a")
    return len(framed) > len(bare) and framed[-len(bare) :] != bare


def check_causal(model: Any, name: str) -> None:
    """Raise ModelError for a model that gives no score per token of the vocabulary, or sees the tokens it should predict."""
    words = int(getattr(model.config, "vocab_size", 0) or 0)
    tokens = (torch.arange(6) % max(words, 1))[None].to(model.device)
    other = tokens.clone()
    other[0, -1] = (other[0, -1] + 1) % max(words, 1)
    advice = "`evaluate` takes a causal language model, such as GPT-2 or Llama with its language-modelling head."
    try:
        with torch.no_grad():
            one, two = (model(input_ids=t).logits.float() for t in (tokens, other))
    except (AttributeError, TypeError, ValueError, RuntimeError, IndexError) as error:
        raise ModelError(f"`{name}` is a `{type(model).__name__}`, which does not score next tokens. {advice}") from error
    if one.ndim != 3 or one.shape[-1] < words:
        raise ModelError(f"`{name}` is a `{type(model).__name__}`, which does not score next tokens. {advice}")
    # Earlier places are computed alike in both, so that a causal model's scores there are equal but for rounding.
    if float((one - two)[:, :-1].abs().max()) > 1e-5 * max(1.0, float(one[:, :-1].abs().max())):
        raise ModelError(f"`{name}` is a `{type(model).__name__}`, which sees the tokens it would have to predict. {advice}")


def load_tasks(names: Sequence[str], *, include: Path | None = None, shots: int = 0, seed: int = 1234) -> dict[str, Any]:
    """The tasks, groups and tags of these names (or paths of YAML files) with their data, as `lm_eval.evaluate` takes them.

    A task of `include` hides a stock one of its name. Where a task's own file says 0 shots, that stays. `seed` draws the
    shots. Raises ConfigurationError for an unknown name and DataError for data that cannot be had.
    """
    manager = _index(names, include)
    found: list[Any] = []
    for name in names:
        try:
            with quiet_harness():
                found.extend(manager.load([name])["tasks"].values())
        except Exception as error:  # datasets, the hub, YAML and a task's own code each raise their own kinds
            raise DataError(
                f"the data of task `{name}` could not be loaded: {one_line(error)}. The harness downloads its tasks' data "
                "from the Hugging Face hub, or uses a copy in its cache; a task of your own can name local files."
            ) from error
    loaded = {task.task_name: task for task in found}
    for task in loaded.values():
        if task.get_config("num_fewshot") != 0:
            task.set_config(key="num_fewshot", value=shots)
        task.set_fewshot_seed(seed=seed)
    return loaded


def check_tasks(tasks: dict[str, Any], model: Any) -> None:
    """Raise ConfigurationError for tasks that this model, or any text model, cannot do."""
    faults = []
    for name, task in tasks.items():
        if task.OUTPUT_TYPE == "generate_until" and not model.can_generate():
            faults.append(
                f"task `{name}` needs generated text, but `{type(model).__name__}` has no `generate`. "
                "Use tasks that compare or score given texts (multiple_choice, loglikelihood)."
            )
        if getattr(task, "MULTIMODAL", False):
            faults.append(f"task `{name}` has images or sound in its prompts: it needs a model that accepts them.")
        if getattr(task, "UNSAFE_CODE", False):
            faults.append(
                f"task `{name}` runs code that the model writes: `evaluate` does not do that. Use the `lm_eval` command."
            )
    if faults:
        raise ConfigurationError(faults)


def run(model: Any, tokenizer: Any, tasks: dict[str, Any], *, limit: int | None = None, batch_size: int = 8) -> dict[str, Any]:
    """The harness's own results (`results`, `n-samples`, `versions`, …) of a model on loaded tasks.

    `limit` takes the first so many examples of each task. Global random states stay as they are.
    """
    with quiet_harness():
        adapter = Adapter(model, tokenizer, batch_size)
        # the error of a median or F1 is estimated from 1000 resamples, in this process
        found: dict[str, Any] = lm_eval.evaluate(
            lm=adapter, task_dict={"tasks": tasks, "groups": {}}, limit=limit, bootstrap_iters=1000, log_samples=False
        )
    return found


@contextlib.contextmanager
def quiet_harness() -> Iterator[None]:
    """Hush the harness's notices and the bars of data being read; what they were set to comes back afterwards."""
    import datasets

    logger = logging.getLogger("lm_eval")
    level, bars = logger.level, datasets.are_progress_bars_disabled()
    logger.setLevel(logging.ERROR)
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        logger.setLevel(level)
        if not bars:
            datasets.enable_progress_bars()


def _index(names: Sequence[str], include: Path | None) -> lm_eval.tasks.TaskManager:
    """An index that knows all names. Reading all of the harness's files takes 20 s: likely folders come first."""
    folders = {STOCK / "super_glue" for name in names if name in _SUPER_GLUE}
    folders |= {STOCK / part for name in names for part in (name, name.split("_")[0]) if part}
    likely = [folder for folder in sorted(folders) if folder.is_dir() and folder.parent == STOCK]
    paths = [*likely, *([include] if include else [])]
    with quiet_harness():
        manager = lm_eval.tasks.TaskManager(include_path=paths, include_defaults=False)
        # the members of a group or tag may lie in folders that were not read
        if all(name in manager.all_subtasks or _is_file(name) for name in names):
            return manager
        manager = lm_eval.tasks.TaskManager(include_path=[include] if include else None)
    unknown = [name for name in names if name not in manager.task_index and not _is_file(name)]
    faults = []
    for name in unknown:
        near = difflib.get_close_matches(name, manager.all_tasks, n=1, cutoff=0.6)
        guess = f"Did you mean `{near[0]}`? " if near else ""
        faults.append(f"unknown task `{name}`. {guess}`lm_eval ls tasks` lists those of the harness; --include adds a folder.")
    if faults:
        raise ConfigurationError(faults)
    return manager


def _is_file(name: str) -> bool:
    return name.endswith((".yaml", ".yml")) and Path(name).is_file()
