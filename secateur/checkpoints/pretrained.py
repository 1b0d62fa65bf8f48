"""Pre-trained models and tokenizers, by folder or hub name. An existing path wins over a name."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.anatomy import anatomy_of
from secateur.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    from secateur.anatomy import Anatomy
    from secateur.tasks import TaskData

_CLASSES = {
    "classification": "AutoModelForSequenceClassification",
    "regression": "AutoModelForSequenceClassification",
    "multiple_choice": "AutoModelForMultipleChoice",
    "language_modelling": "AutoModelForCausalLM",
}


#: What the names of tokenizer files look like, of all families.
_TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "*.tiktoken", "tekken.json")


def check_model(model: str, kind: str | None = None) -> None:
    """Cheap faults of a model: a folder that is not there, of a family that no anatomy describes, or of one that cannot do
    this kind of task. Raises ModelError."""
    folder = Path(model).expanduser()
    if not folder.exists():
        if model.startswith((".", "/", "~")) or model.count("/") > 1 or "\\" in model:
            raise ModelError(f"there is no model folder `{model}`.")
        return  # a name on the hub
    if not (folder / "config.json").is_file():
        raise ModelError(f"`{model}` holds no model: it has no config.json.")
    try:
        described = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        family = described["model_type"]
    except (ValueError, KeyError, OSError) as error:
        raise ModelError(f"`{folder / 'config.json'}` cannot be read: {error}.") from error
    _check_kind(model, anatomy_of(_Named(family)), kind)


class _Named:
    def __init__(self, model_type: str) -> None:
        self.model_type = model_type


def _check_kind(model: str, anatomy: Anatomy, kind: str | None) -> None:
    """Raise ModelError where the family has no head for this kind of task, or could cheat at it."""
    if kind == "language_modelling" and not anatomy.decoder:
        raise ModelError(
            f"`{model}` cannot model language: `{anatomy.family}` is an encoder, which sees the tokens that it would have to "
            "predict. Use a decoder, such as gpt2 or llama."
        )
    if kind == "multiple_choice":
        from transformers.models.auto.modeling_auto import MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES

        if anatomy.family not in MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES:
            raise ModelError(
                f"`{model}` cannot do multiple choice: transformers has no such head for `{anatomy.family}`. "
                "Use an encoder, such as bert or roberta."
            )


def _fault(model: str, error: BaseException) -> ModelError:
    reason = " ".join(str(error).split())
    if Path(model).expanduser().exists():
        return ModelError(f"the model in `{model}` cannot be loaded: {reason[:300]}")
    return ModelError(f"`{model}` is neither a folder nor a model that could be fetched from the hub: {reason[:200]}")


def load_tokenizer(model: str) -> Any:
    """The tokenizer that comes with a model. Raises ModelError where there is none, or one that the model has no words for."""
    from transformers import AutoConfig, AutoTokenizer

    where = Path(_where(model))
    missing = f"`{model}` has no tokenizer files. Save the model's tokenizer beside it: tokenizer.save_pretrained(...)."
    if where.is_dir() and not any(file for pattern in _TOKENIZER_FILES for file in where.glob(pattern)):
        raise ModelError(missing)
    if (where / "tokenizer.model").is_file() and not (where / "tokenizer.json").is_file() and not find_spec("sentencepiece"):
        raise MissingExtraError("sentencepiece", "sentencepiece")
    try:
        tokenizer = AutoTokenizer.from_pretrained(_where(model))
        words = getattr(AutoConfig.from_pretrained(_where(model)), "vocab_size", None)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise _fault(model, error) from error
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):  # without a vocabulary transformers makes one of these alone
        raise ModelError(missing)
    if words is not None and len(tokenizer) > words:
        raise ModelError(
            f"the tokenizer of `{model}` does not fit it: it has {len(tokenizer)} tokens, and the model knows {words}. "
            "Give the tokenizer that the model was trained with."
        )
    return tokenizer


def load_model(model: str, data: TaskData, *, seed: int, device: str) -> Any:
    """The model with a head for the task, in float32 on the device. A new head is initialised from the seed."""
    import torch
    import transformers

    auto = getattr(transformers, _CLASSES[data.task.kind])
    options: dict[str, Any] = {"dtype": torch.float32}
    if data.task.kind in ("classification", "regression"):
        options["num_labels"] = data.num_labels
        options["problem_type"] = "regression" if data.task.kind == "regression" else "single_label_classification"
        if data.label_names and data.task.kind == "classification":
            options["id2label"] = dict(enumerate(data.label_names))
            options["label2id"] = {name: i for i, name in enumerate(data.label_names)}
    try:
        config = transformers.AutoConfig.from_pretrained(_where(model))
        _check_kind(model, anatomy_of(config), data.task.kind)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            # a head for other labels is replaced by a new one; anything else that does not fit is an error
            loaded, said = auto.from_pretrained(
                _where(model), ignore_mismatched_sizes=True, output_loading_info=True, **options
            )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise _fault(model, error) from error
    except Exception as error:  # safetensors raises a class of its own for a damaged file
        if type(error).__module__.startswith("safetensors"):
            raise _fault(model, error) from error
        raise
    _check_body(model, loaded, said)
    if loaded.config.pad_token_id is None:
        loaded.config.pad_token_id = data.tokenizer.pad_token_id
    return loaded.to(device)


def _check_body(model: str, loaded: Any, said: Any) -> None:
    """Raise ModelError where weights of the layers or embeddings are missing or of another size."""
    body = loaded.base_model_prefix + "."
    odd = [str(key[0] if isinstance(key, tuple) else key) for key in (*said["mismatched_keys"], *said["missing_keys"])]
    odd = sorted(name for name in odd if name.startswith(body) and "pooler" not in name)
    if odd:
        raise ModelError(f"the weights in `{model}` do not fit its configuration: {odd[0]} and {len(odd) - 1} more are amiss.")


def _where(model: str) -> str:
    folder = Path(model).expanduser()
    return str(folder) if folder.exists() else model
