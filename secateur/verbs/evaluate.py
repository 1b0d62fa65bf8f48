"""`secateur evaluate`: a language model's scores on tasks of lm-evaluation-harness, without shots or with a few."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.errors import ConfigurationError, MissingExtraError, ModelError, UnknownNameError

#: The 14 tasks of Javaheripi et al. (2022), section 4.5, as the paper names them → as the harness does. All need the hub.
LTS14 = {
    "HellaSwag": "hellaswag",
    "PIQA": "piqa",
    "ARC (easy)": "arc_easy",
    "ARC (challenge)": "arc_challenge",
    "OpenBookQA": "openbookqa",
    "WinoGrande": "winogrande",
    "BoolQ": "boolq",
    "CB": "cb",
    "COPA": "copa",
    "WIC": "wic",
    "WSC": "wsc",
    "MultiRC": "multirc",
    "RTE": "sglue_rte",
    "ReCoRD": "record",
}
TASK_PRESETS = {"lts14": tuple(LTS14.values())}

#: What counts as a task's accuracy, the first that it has. ReCoRD has exact match only.
_ACCURACY = ("acc", "em", "exact_match")


@dataclass(frozen=True)
class Score:
    """A metric's value, and its standard error where the harness estimates one."""

    value: float
    stderr: float | None


@dataclass(frozen=True)
class Evaluation:
    """Scores of one model: task → metric → score; per task, how many examples were asked and how many shots were shown."""

    model: str
    scores: dict[str, dict[str, Score]]
    examples: dict[str, int]
    shots: dict[str, int]
    #: Examples asked of each task at most; None: all.
    limit: int | None
    #: Of the harness, under `lm_eval`, and of each task's definition. Scores of different versions do not compare.
    versions: dict[str, str]

    @property
    def accuracies(self) -> dict[str, float]:
        """The accuracy of each task that has one."""
        found = {}
        for task, metrics in self.scores.items():
            named = [metrics[name].value for name in _ACCURACY if name in metrics]
            if named:
                found[task] = named[0]
        return found

    @property
    def accuracy(self) -> float | None:
        """The mean over tasks of their accuracies, each task counting once; None where no task has one."""
        found = self.accuracies
        return sum(found.values()) / len(found) if found else None

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {**asdict(self), "accuracy": self.accuracy}

    def __str__(self) -> str:
        rows = [("task", "metric", "value", "± stderr", "examples", "shots")]
        for task, metrics in self.scores.items():
            facts = (str(self.examples[task]), str(self.shots[task]))
            for place, (metric, score) in enumerate(metrics.items()):
                error = "" if score.stderr is None else f"± {score.stderr:.4f}"
                rows.append(
                    (task if place == 0 else "", metric, f"{score.value:.4f}", error, *(facts if place == 0 else ("", "")))
                )
        if self.accuracy is not None:
            rows.append(("mean", "accuracy", f"{self.accuracy:.4f}", f"{len(self.accuracies)} tasks", "", ""))
        widths = [max(len(row[column]) for row in rows) for column in range(6)]
        lines = [
            "  ".join(
                cell.ljust(width) if column < 2 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        return "\n".join([self.model, *("  " + line.rstrip() for line in lines)])


def evaluate(
    model: Annotated[str, typer.Argument(help="Folder of a checkpoint, or a name on the hub.")],
    *,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="A task of lm-evaluation-harness, or the path of a task's YAML file. Give it several times for several."
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="lts14: the 14 tasks of Javaheripi et al. (2022).")] = None,
    shots: Annotated[int, typer.Option(help="Solved examples in front of each question.")] = 0,
    limit: Annotated[
        int | None, typer.Option(help="Ask only the first so many examples of each task.", show_default="all")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Texts per forward pass.")] = 8,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N, or auto for a GPU where there is one.")] = "auto",
    include: Annotated[Path | None, typer.Option(help="A folder with task files (YAML) of your own.")] = None,
    to: Annotated[Path | None, typer.Option(help="A JSON file to write the results to; must be new.")] = None,
) -> Evaluation:
    """Score a causal language model on tasks of lm-evaluation-harness.

    Raises ConfigurationError for settings that do not fit, MissingExtraError without lm_eval, ModelError for a model that
    cannot be loaded or predicts no next token, DataError for a task whose data cannot be had.
    """
    include = None if include is None else Path(include)
    to = None if to is None else Path(to)
    names = _named(task, preset)
    _check(names, shots, limit, batch_size, include, to)
    if find_spec("lm_eval") is None:
        raise MissingExtraError("lm-eval", "lm-eval")
    if to is not None:
        _try(to)
    from secateur.devices.device import resolve_device

    where = resolve_device(device)
    network, tokenizer = _load(model)

    from secateur.tasks import harness

    network = network.to(where).eval()
    harness.check_causal(network, model)
    tasks = harness.load_tasks(names, include=include, shots=shots)
    harness.check_tasks(tasks, network)
    found = harness.run(network, tokenizer, tasks, limit=limit, batch_size=batch_size)
    evaluation = Evaluation(
        model,
        {name: _scores(found["results"][name]) for name in tasks},
        {name: int(found["n-samples"][name]["effective"]) for name in tasks},
        {name: int(found["n-shot"][name]) for name in tasks},
        limit,
        {"lm_eval": _version(), **{name: str(found["versions"].get(name, "")) for name in tasks}},
    )
    if to is not None:
        try:
            _write(evaluation, to)
        except OSError as error:
            typer.echo(str(evaluation))  # hours of work may be in it
            raise ConfigurationError(f"`to` {_unwritable(to, error)} The scores are printed instead.") from error
    return evaluation


def _named(task: list[str] | None, preset: str | None) -> list[str]:
    """The tasks of the preset, then those named, each once."""
    if preset is not None and preset not in TASK_PRESETS:
        raise UnknownNameError("preset", preset, TASK_PRESETS)
    names = list(dict.fromkeys([*(TASK_PRESETS[preset] if preset else ()), *(task or [])]))
    if not names:
        raise ConfigurationError("say which tasks: --task arc_easy, several times for several, or --preset lts14.")
    return names


def _check(names: list[str], shots: int, limit: int | None, batch_size: int, include: Path | None, to: Path | None) -> None:
    faults = []
    if not all(name.strip() for name in names):
        faults.append("`task` must be a name, got an empty one.")
    if shots < 0:
        faults.append(f"`shots` must be at least 0, got {shots}.")
    if limit is not None and limit < 1:
        faults.append(f"`limit` must be at least 1, got {limit}. Leave it out to ask all examples.")
    if batch_size < 1:
        faults.append(f"`batch_size` must be at least 1, got {batch_size}.")
    if include is not None and not include.is_dir():
        faults.append(f"`include` must be a folder with task files, and `{include}` is none.")
    if to is not None and to.exists():
        faults.append(f"`to` must be a new file, and `{to}` exists.")
    if faults:
        raise ConfigurationError(faults)


def _load(model: str) -> tuple[Any, Any]:
    """The network, all of its weights as saved, and its tokenizer. Runs no code that comes with a checkpoint."""
    import secateur.auto  # noqa: F401 - the tokenizer's loader asks transformers for the configuration of our classes
    from secateur.checkpoints import load
    from secateur.checkpoints.pretrained import load_tokenizer

    folder = Path(model).expanduser()
    if folder.exists():
        return load(folder), load_tokenizer(model)
    if folder.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1 or "\\" in model:
        raise ModelError(f"`{model}` does not exist. Give the folder of a checkpoint, or a name on the hub.")
    import transformers

    from secateur.checkpoints.quiet import quiet

    tokenizer = load_tokenizer(model)
    try:
        with quiet():
            network = transformers.AutoModelForCausalLM.from_pretrained(model, trust_remote_code=False)
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        raise ModelError(f"`{model}` could not be loaded: {' '.join(str(error).split())[:300]}") from error
    return network, tokenizer


def _scores(metrics: dict[str, Any]) -> dict[str, Score]:
    """`acc,none` and `acc_stderr,none` → `acc`; a filter other than none stays in the name: `exact_match (strict)`."""
    found = {}
    for key, value in metrics.items():
        metric, comma, filtered = key.partition(",")
        if not comma or metric.endswith("_stderr") or not isinstance(value, int | float):
            continue
        error = metrics.get(f"{metric}_stderr,{filtered}")
        name = metric if filtered == "none" else f"{metric} ({filtered})"
        found[name] = Score(float(value), float(error) if isinstance(error, int | float) else None)
    return found


def _version() -> str:
    from importlib.metadata import version

    return version("lm-eval")


def _try(to: Path) -> None:
    """Make the file's folder and a file in it, before the work. Raises ConfigurationError where that cannot be."""
    unfinished = _unfinished(to)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
        unfinished.unlink()
    except OSError as error:
        raise ConfigurationError(f"`to` {_unwritable(to, error)}") from error


def _unfinished(to: Path) -> Path:
    return to.with_name(to.name + ".unfinished")


def _unwritable(to: Path, error: OSError) -> str:
    return f"cannot be written: `{to}`: {(error.strerror or str(error)).lower()}."


def _write(evaluation: Evaluation, to: Path) -> None:
    """Write the JSON file whole or not at all."""
    unfinished = _unfinished(to)
    unfinished.write_text(json.dumps(evaluation.as_dict(), indent=2) + "\n", encoding="utf-8")
    os.replace(unfinished, to)
