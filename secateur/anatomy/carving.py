# Copyright the Secateur authors. Licensed under the Apache License, Version 2.0.
"""Carve a stock transformers model down to the sizes of a pruned one.

This file stands alone: it needs torch and transformers, not Secateur. Exported folders carry a copy of it where the family's own
configuration cannot say the sizes; `config.secateur` then holds a description of the form

    {"layers": [{"index": 0, "heads": 3, "units": 512}, …],    the kept layers, with their index in the unpruned network
     "full": {"heads": 12, "units": 1536},                      what an unpruned layer has
     "stack": "encoder.layer",                                  where the layers are, seen from the base model
     "cuts": [["attention.self.query", "out", "heads"], …],     which modules shrink, at which side, with what
     "scaled": [["attention.self", "num_attention_heads", "heads"], …],   attributes that shrink along
     "without": {"heads": [["attention", "PassAttention"]], "units": […]}}   what stands in for a removed sub-layer
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


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


def put(module: nn.Module, path: str, child: nn.Module) -> None:
    """Set the sub-module at a dotted path."""
    parent, _, name = path.rpartition(".")
    setattr(module.get_submodule(parent), name, child)


def number_attention(layers: nn.ModuleList | list[nn.Module]) -> None:
    """Give every attention its place in the cache: `layer_idx` counts only the layers that have attention."""
    place = 0
    for layer in layers:
        attentions = [m for m in layer.modules() if getattr(m, "layer_idx", None) is not None]
        for module in attentions:
            module.layer_idx = place  # type: ignore[assignment]
        place += bool(attentions)


def without_cache(model: nn.Module) -> None:
    """A network with no attention at all has nothing to cache."""
    for holder in (model.config, getattr(model, "generation_config", None)):
        if hasattr(holder, "use_cache"):
            holder.use_cache = False


def _shrunk(module: nn.Module, side: str, kept: int, full: int) -> nn.Module:
    """A new module of the same class, `side` (out or in) scaled by kept / full; its weights are whatever the class initialises."""
    conv1d = type(module).__name__ == "Conv1D"
    wide_in, wide_out = module.weight.shape if conv1d else reversed(module.weight.shape)  # type: ignore[misc]
    if side == "out":
        wide_out = wide_out * kept // full
    else:
        wide_in = wide_in * kept // full
    like = {"device": module.weight.device, "dtype": module.weight.dtype}
    if conv1d:
        return type(module)(wide_out, wide_in).to(**like)  # type: ignore[arg-type]
    return nn.Linear(wide_in, wide_out, bias=module.bias is not None, **like)  # type: ignore[arg-type]


def carve(model: nn.Module) -> None:
    """Shrink a freshly built model in place, as its `config.secateur` says."""
    said = model.config.secateur  # type: ignore[union-attr]
    stack = model.base_model.get_submodule(said["stack"])  # type: ignore[union-attr, operator]
    full = said["full"]
    for layer, sizes in zip(stack, said["layers"], strict=True):  # type: ignore[call-overload, arg-type]
        for path, side, by in said["cuts"]:
            if sizes[by]:
                put(layer, path, _shrunk(layer.get_submodule(path), side, sizes[by], full[by]))
        for path, name, by in said["scaled"]:
            module = layer.get_submodule(path)
            setattr(module, name, getattr(module, name) * sizes[by] // full[by])
        for by, replaced in said["without"].items():
            if not sizes[by]:
                for path, stand_in in replaced:
                    put(layer, path, STAND_INS[stand_in]())
        for module in layer.modules():  # GPT-2 may scale attention by the layer's place in the unpruned network
            if getattr(module, "scale_attn_by_inverse_layer_idx", False):
                module.scaling *= (module.layer_idx + 1) / (sizes["index"] + 1)
    number_attention(stack)  # type: ignore[arg-type]
    if not any(sizes["heads"] for sizes in said["layers"]):
        without_cache(model)


def carved_class(base: type, name: str, config_class: type) -> type:
    """The subclass of a transformers model class that carves itself once it is built."""

    def __init__(self: Any, config: Any, *args: Any, **kwargs: Any) -> None:
        base.__init__(self, config, *args, **kwargs)
        carve(self)

    return type(name, (base,), {"__init__": __init__, "config_class": config_class, "__module__": __name__})


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

        stock = getattr(transformers, name.removeprefix("Secateur"))
        if name.endswith("Config"):
            _made[name] = carved_config(stock)
        else:
            config_class = __getattr__("Secateur" + stock.config_class.__name__)
            _made[name] = carved_class(stock, name, config_class)
    return _made[name]


