# Copyright the Secateur authors. Licensed under the Apache License, Version 2.0.
"""Carve a stock transformers model down to the sizes of a pruned one.

This file stands alone: it needs torch and transformers, not Secateur. Exported folders carry a copy of it where the family's
own configuration cannot say the sizes; `config.secateur` then holds a description of the form

    {"layers": [{"index": 0, "heads": 3, "units": 512}, …],    the kept layers, with their index in the unpruned network
     "full": {"heads": 12, "units": 1536},                      what an unpruned layer has
     "stack": "encoder.layer",                                  where the layers are, seen from the base model
     "cuts": [["attention.self.query", "out", "heads"], …],     which modules shrink, at which side, with what
     "scaled": [["attention.self", "num_attention_heads", "heads"], …],   attributes that shrink along
     "without": {"heads": [["attention", "PassAttention"]], "units": […]}}   what stands in for a removed sub-layer

and in some families

    {"first_lacks": [["attn_norm", "mlp_norm"]],    modules that the unpruned first layer lacks, each with its like
     "head_bias": ["attention", "position_bias"]}   a module that is called with a bias of every unpruned head, and the
                                                    argument's name; each of "layers" then lists the heads that are "kept"
"""

from __future__ import annotations

import copy
import os
import shutil
from typing import Any

import torch
from torch import nn

#: The name that this file has in an exported folder.
FILE = "modeling_secateur"

#: How a model class's name ends, and the Auto class that loads it.
AUTO_CLASSES = {
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForMultipleChoice": "AutoModelForMultipleChoice",
    "ForTokenClassification": "AutoModelForTokenClassification",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
    "ForImageClassification": "AutoModelForImageClassification",
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForCausalLM": "AutoModelForCausalLM",
    "LMHeadModel": "AutoModelForCausalLM",
    "Model": "AutoModel",
}


class PassAttention(nn.Module):
    """Stands in for an attention block that includes its residual connection: hands its input on."""

    def forward(self, hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, None]:
        return hidden_states, None


class NoAttention(nn.Module):
    """Stands in for an attention whose output is added to the residual: adds nothing."""

    def forward(self, hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, None]:
        return torch.zeros_like(hidden_states), None


class NoFeedForward(nn.Module):
    """Stands in for a feed-forward whose output is added to the residual: adds nothing."""

    def forward(self, hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return torch.zeros_like(hidden_states)


class PassResidual(nn.Module):
    """Stands in for the second half of a feed-forward that is handed the residual: returns the residual."""

    def forward(self, hidden_states: torch.Tensor, input_tensor: torch.Tensor) -> torch.Tensor:
        return input_tensor


STAND_INS: dict[str, type[nn.Module]] = {
    "PassAttention": PassAttention,
    "NoAttention": NoAttention,
    "NoFeedForward": NoFeedForward,
    "PassResidual": PassResidual,
    "Identity": nn.Identity,
}


class OwnHeads:
    """A pre-hook of an attention that is called with a bias (batch, heads, …) of all heads: hands on that of the kept ones."""

    def __init__(self, argument: str, kept: list[int]) -> None:
        self.argument = argument
        self.kept: Any = slice(len(kept)) if kept == list(range(len(kept))) else kept

    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return args, {**kwargs, self.argument: kwargs[self.argument][:, self.kept]}


def put(module: nn.Module, path: str, child: nn.Module) -> None:
    """Set the sub-module at a dotted path."""
    parent, _, name = path.rpartition(".")
    setattr(module.get_submodule(parent), name, child)


def number_attention(layers: nn.ModuleList | list[nn.Module]) -> None:
    """Give every attention its place in the cache: `layer_idx` counts only the layers that have attention."""
    place = 0
    for layer in layers:
        attentions = [m for m in layer.modules() if m is not layer and getattr(m, "layer_idx", None) is not None]
        for module in attentions:
            module.layer_idx = place  # type: ignore[assignment]
        place += bool(attentions)


def without_cache(model: Any) -> None:
    """A network with no attention at all has nothing to cache."""
    for holder in (model.config, getattr(model, "generation_config", None)):
        if holder is not None and hasattr(holder, "use_cache"):
            holder.use_cache = False


def _shrunk(module: Any, side: str, kept: int, full: int) -> nn.Module:
    """A new module of the same class, `side` (out or in) scaled by kept / full, with weights as the class initialises them."""
    conv1d = type(module).__name__ == "Conv1D"
    wide_in, wide_out = module.weight.shape if conv1d else reversed(module.weight.shape)
    if side == "out":
        wide_out = wide_out * kept // full
    else:
        wide_in = wide_in * kept // full
    like = {"device": module.weight.device, "dtype": module.weight.dtype}
    small: nn.Module
    if conv1d:
        small = type(module)(wide_out, wide_in).to(**like)
    else:
        small = nn.Linear(wide_in, wide_out, bias=module.bias is not None, **like)
    return small


def carve(model: Any) -> None:
    """Shrink a freshly built model in place, as its `config.secateur` says."""
    said = model.config.secateur
    if not getattr(model.base_model, "is_carved", False):  # a base that an Auto class built has carved itself
        _carve_layers(model.base_model, said)
        model.base_model.is_carved = True
    # A cache's layers are typed by place, so where types differ a layer without attention would shift them.
    attention_layers = len([sizes for sizes in said["layers"] if sizes["heads"]])
    mixed = len(set(getattr(model.config, "layer_types", None) or [])) > 1
    if attention_layers == 0 or (mixed and attention_layers < len(said["layers"])):
        without_cache(model)


def _carve_layers(base: Any, said: dict[str, Any]) -> None:
    stack = base.get_submodule(said["stack"])
    full = said["full"]
    for place, (layer, sizes) in enumerate(zip(stack, said["layers"], strict=True)):
        if place == 0 and sizes["index"] > 0:
            for path, like in said.get("first_lacks", []):
                put(layer, path, copy.deepcopy(layer.get_submodule(like)))
        modules = dict(layer.named_modules())
        for path, side, by in said["cuts"]:
            if sizes[by] and path in modules:  # some models of a family lack some of its modules
                put(layer, path, _shrunk(layer.get_submodule(path), side, sizes[by], full[by]))
        for path, name, by in said["scaled"]:
            module = layer.get_submodule(path)
            setattr(module, name, getattr(module, name) * sizes[by] // full[by])
        for by, replaced in said["without"].items():
            if not sizes[by]:
                for path, stand_in in replaced:
                    put(layer, path, STAND_INS[stand_in]())
        if "head_bias" in said and 0 < sizes["heads"] < full["heads"]:
            path, argument = said["head_bias"]
            layer.get_submodule(path).register_forward_pre_hook(OwnHeads(argument, sizes["kept"]), with_kwargs=True)
        for module in layer.modules():  # GPT-2 may scale attention by the layer's place in the unpruned network
            if getattr(module, "scale_attn_by_inverse_layer_idx", False):
                module.scaling *= (module.layer_idx + 1) / (sizes["index"] + 1)
    number_attention(stack)


def auto_class(name: str) -> str | None:
    """The Auto class that loads a model class of this name, or None where there is none."""
    return next((auto for ending, auto in AUTO_CLASSES.items() if name.endswith(ending)), None)


def carved_class(base: type, name: str, config_class: type) -> type:
    """The subclass of a transformers model class that carves itself once it is built, and saves itself with this file."""

    def build(self: Any, config: Any, *args: Any, **kwargs: Any) -> None:
        base.__init__(self, config, *args, **kwargs)  # type: ignore[misc]
        carve(self)

    def save_pretrained(self: Any, save_directory: Any, *args: Any, **kwargs: Any) -> None:
        auto = auto_class(name)
        self.config.auto_map = {"AutoConfig": f"{FILE}.{config_class.__name__}", **({auto: f"{FILE}.{name}"} if auto else {})}
        base.save_pretrained(self, save_directory, *args, **kwargs)  # type: ignore[attr-defined]
        copy = os.path.join(save_directory, FILE + ".py")
        if not (os.path.exists(copy) and os.path.samefile(__file__, copy)):
            shutil.copyfile(__file__, copy)

    own = {"__init__": build, "save_pretrained": save_pretrained, "config_class": config_class, "__module__": __name__}
    return type(name, (base,), own)


def carved_config(base: type) -> type:
    """The subclass of a family's configuration under the model type `secateur_<family>`."""
    family = base.model_type  # type: ignore[attr-defined]
    name = "Secateur" + base.__name__
    return type(name, (base,), {"model_type": f"secateur_{family}", "__module__": __name__})


_made: dict[str, type] = {}


def __getattr__(name: str) -> Any:
    """`SecateurBertConfig`, `SecateurBertForSequenceClassification`, …: made from the stock class of the name's rest."""
    if not name.startswith("Secateur"):
        raise AttributeError(name)
    if name not in _made:
        import transformers

        stock: Any = getattr(transformers, name.removeprefix("Secateur"), None)
        if stock is None:
            raise AttributeError(f"transformers has no class `{name.removeprefix('Secateur')}`")
        if name.endswith("Config"):
            _made[name] = carved_config(stock)
        else:
            config_class = __getattr__("Secateur" + stock.config_class.__name__)
            _made[name] = carved_class(stock, name, config_class)
            # Llama's classifiers and their kin build their base through AutoModel.
            base: Any = transformers.AutoModel._model_mapping[stock.config_class]
            base = base[0] if isinstance(base, tuple | list) else base
            if base is not stock:
                transformers.AutoModel.register(config_class, __getattr__("Secateur" + base.__name__), exist_ok=True)
    return _made[name]
