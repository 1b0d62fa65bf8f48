"""Pre-trained models and tokenizers, by folder or hub name. An existing path wins over a name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.anatomy import anatomy_of
from secateur.errors import ModelError

if TYPE_CHECKING:
    from secateur.tasks import TaskData

_CLASSES = {
    "classification": "AutoModelForSequenceClassification",
    "regression": "AutoModelForSequenceClassification",
    "multiple_choice": "AutoModelForMultipleChoice",
    "language_modelling": "AutoModelForCausalLM",
}


def check_model(model: str) -> None:
    """Cheap faults of a model: a folder that is not there, or of a family that no anatomy describes. Raises ModelError."""
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
    anatomy_of(_Named(family))


class _Named:
    def __init__(self, model_type: str) -> None:
        self.model_type = model_type


def _fault(model: str, error: BaseException) -> ModelError:
    reason = " ".join(str(error).split())
    if Path(model).expanduser().exists():
        return ModelError(f"the model in `{model}` cannot be loaded: {reason[:300]}")
    return ModelError(f"`{model}` is neither a folder nor a model that could be fetched from the hub: {reason[:200]}")


def load_tokenizer(model: str) -> Any:
    """The tokenizer that comes with a model."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(_where(model))
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise _fault(model, error) from error


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
        anatomy_of(config)
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
