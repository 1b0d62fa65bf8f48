"""Models by folder or hub name: a pre-trained one to prune, or any one to measure or evaluate. Runs none of their code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from secateur.anatomy import ANATOMIES, anatomy_of
from secateur.anatomy.inputs import blank_inputs
from secateur.checkpoints.carried import carried
from secateur.checkpoints.exported import load
from secateur.checkpoints.folders import described, local
from secateur.checkpoints.foreign import LAYERS, check_weights, parsing
from secateur.checkpoints.quiet import quiet
from secateur.errors import ModelError
from secateur.tasks.hub import hub
from secateur.tasks.task import IMAGES, TEXT_KINDS

if TYPE_CHECKING:
    import numpy as np

    from secateur.tasks import TaskData

#: Kind of task → the Auto class of transformers.
AUTO_CLASSES = {
    "classification": "AutoModelForSequenceClassification",
    "regression": "AutoModelForSequenceClassification",
    "multiple_choice": "AutoModelForMultipleChoice",
    "language_modelling": "AutoModelForCausalLM",
    IMAGES: "AutoModelForImageClassification",
}


def is_for_images(model: str) -> bool | None:
    """Whether a model reads images, by its folder; None where that is not known: on the hub, or damaged."""
    try:
        folder = local(model)
        return None if folder is None else ANATOMIES[described(folder)["model_type"]].images
    except (ModelError, KeyError):
        return None


def check_model(model: str, kind: str | None = None) -> None:
    """Cheap faults of a model: a folder that is not there, of a family that no anatomy describes, or of one that cannot do
    this kind of task. Raises ModelError."""
    folder = local(model)
    if folder is not None:
        said = described(folder)
        check_kind(model, SimpleNamespace(model_type=said["model_type"]), kind)
        if any(said.get(name) == 0 for name in LAYERS):
            raise ModelError(f"`{model}` has no layers: there is nothing to prune.")


def check_kind(model: str, config: Any, kind: str | None) -> None:
    """Raise ModelError where the family is not known, has no head for this kind of task, reads something else, or could cheat
    at it."""
    anatomy = anatomy_of(config)
    if anatomy.images and kind in TEXT_KINDS:
        raise ModelError(
            f"`{model}` reads images, and {kind.replace('_', ' ')} here is a task on texts. Use a language model, such as bert."
        )
    if kind == IMAGES and not anatomy.images:
        raise ModelError(f"`{model}` reads texts, and image classification needs a model that reads images, such as vit.")
    if kind == "language_modelling" and not anatomy.decoder:
        raise ModelError(
            f"`{model}` cannot be a language model: `{anatomy.family}` is an encoder, which sees the tokens it would have to "
            "predict. Use a decoder, such as gpt2 or llama."
        )
    if kind == "multiple_choice":
        from transformers.models.auto.modeling_auto import MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES

        if anatomy.family not in MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES:
            raise ModelError(
                f"`{model}` cannot do multiple choice: transformers has no such head for `{anatomy.family}`. "
                "Use an encoder, such as bert or roberta."
            )


@contextlib.contextmanager
def reading(model: str) -> Iterator[str]:
    """Where transformers finds the model (within the context it is quiet, and what it raises becomes a ModelError)."""
    folder = local(model)
    told = f"`{model}` is neither a folder nor a model that can be downloaded from the hub"
    asked = hub() if folder is None else contextlib.nullcontext()
    with parsing(told if folder is None else f"the model in `{model}` cannot be loaded"), quiet(), asked:
        yield model if folder is None else str(folder)


def load_model(model: str, data: TaskData, *, seed: int, device: str, weights: Mapping[str, np.ndarray] | None = None) -> Any:
    """The model with a head for the task, in float32 on the device. A new head is initialised from the seed. Files that are
    among the `weights` (see `carried`) are not read."""
    import torch
    import transformers

    auto = getattr(transformers, AUTO_CLASSES[data.task.kind])
    options = _head(data)
    with reading(model) as source:
        config = transformers.AutoConfig.from_pretrained(source)
        check_kind(model, config, data.task.kind)
        if getattr(config, "chunk_size_feed_forward", 0):
            # Chunks only save memory, and fail where they do not divide a batch's length.
            options["chunk_size_feed_forward"] = 0
        folder = local(model)
        known = None
        if folder is not None:
            check_weights(folder, lambda: auto.from_config(config))
            known = carried(folder, weights or {})
        if known:
            options = {"config": transformers.AutoConfig.from_pretrained(source, **options), "state_dict": known}
            with torch.device("meta"):
                auto = type(auto.from_config(options["config"]))  # Auto classes take no weights
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            # a head for other labels is replaced by a new one; anything else that does not fit is an error
            options |= {"dtype": torch.float32, "ignore_mismatched_sizes": True, "output_loading_info": True}
            loaded, said = auto.from_pretrained(None if known else source, **options)
            loaded.config.name_or_path = source
        _check_body(model, loaded, said)
        _try(model, loaded)
    _set_padding(loaded.config, data)
    return loaded.to(device)


def _set_padding(config: Any, data: TaskData) -> None:
    """The tokenizer's padding token, where the configuration names none. Images have none."""
    if data.task.kind in TEXT_KINDS and config.pad_token_id is None:
        config.pad_token_id = data.tokenizer.pad_token_id


def network_like(model: str, data: TaskData, *, layers: int | None = None, device: str = "meta") -> Any:
    """A network of the model's configuration with a head for the task and weights that are made up; of so many layers, where
    that is given. On the meta device it takes no memory. Raises ModelError."""
    import torch
    import transformers

    with reading(model) as source:
        config = transformers.AutoConfig.from_pretrained(source, **_head(data))
        check_kind(model, config, data.task.kind)
        if layers is not None and layers < config.num_hidden_layers:
            config.num_hidden_layers = layers
            if getattr(config, "layer_types", None):
                config.layer_types = config.layer_types[:layers]
        _set_padding(config, data)
        with torch.random.fork_rng(devices=[]), torch.device(device):
            return getattr(transformers, AUTO_CLASSES[data.task.kind]).from_config(config, dtype=torch.float32).eval()


def _head(data: TaskData) -> dict[str, Any]:
    """Settings of a configuration that make a head for the task."""
    options: dict[str, Any] = {}
    if data.task.kind in ("classification", "regression", IMAGES):
        options["num_labels"] = data.num_labels
        options["problem_type"] = "regression" if data.task.kind == "regression" else "single_label_classification"
        if data.label_names and data.task.kind != "regression":
            options["id2label"] = dict(enumerate(data.label_names))
            options["label2id"] = {name: i for i, name in enumerate(data.label_names)}
    return options


def _check_body(model: str, loaded: Any, said: Any) -> None:
    """Raise ModelError where weights of the layers or embeddings are missing or of another size."""
    body = loaded.base_model_prefix + "."
    odd = [str(key[0] if isinstance(key, tuple) else key) for key in (*said["mismatched_keys"], *said["missing_keys"])]
    odd = sorted(name for name in odd if name.startswith(body) and "pooler" not in name)
    if odd:
        raise ModelError(
            f"the weights in `{model}` do not match its configuration: {odd[0]} and {len(odd) - 1} more are wrong."
        )


def _try(model: str, loaded: Any) -> None:
    """Raise ModelError where the network gives no numbers for two tokens, or an image; what it raises itself is the caller's
    to catch."""
    import torch

    inputs = blank_inputs(loaded, 1, 2)
    with torch.inference_mode():
        logits = loaded.eval()(**inputs).logits
    if not bool(logits.isfinite().all()):
        raise ModelError(f"the model in `{model}` cannot be used: its outputs are not finite. Its weights may be damaged.")


def load_any(model: str) -> Any:
    """The network of a checkpoint folder (stock, or exported by Secateur) or of a name on the hub, to be measured.

    Missing weights of a stock model are made up: they do not change what a pass costs. Raises ModelError.
    """
    folder = local(model)
    if folder is not None and described(folder)["model_type"].startswith("secateur_"):
        return load(folder)
    import transformers

    with reading(model) as source:
        config = transformers.AutoConfig.from_pretrained(source, trust_remote_code=False)
        name = str((config.architectures or ["AutoModel"])[0])
        kind = getattr(transformers, name, None)
        build = getattr(kind, "from_config", None) or getattr(kind, "_from_config", None)
        if kind is None or build is None:
            raise ModelError(f"`{model}` is a `{name}`, which transformers {transformers.__version__} does not have.")
        if folder is not None:
            check_weights(folder, lambda: build(config))
        return kind.from_pretrained(source, trust_remote_code=False)


def load_causal(model: str) -> Any:
    """The language model in a checkpoint folder, all of its weights as saved, or of a name on the hub. Raises ModelError."""
    folder = local(model)
    if folder is not None:
        if is_for_images(model):
            raise ModelError(f"`{model}` reads images: it is no language model, such as GPT-2 or Llama.")
        return load(folder)
    import transformers

    with reading(model):
        return transformers.AutoModelForCausalLM.from_pretrained(model, trust_remote_code=False)
