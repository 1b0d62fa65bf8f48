"""Ghost layers: shallow clones of the kept layers whose parameters are views of (or gathers from) the shared ones.

They cost what the sub-network costs, their gradients reach the shared weights, and they stay exact under gradient checkpointing
even when backward runs after the shared layers are back in place.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import torch
from torch import nn

from secateur.anatomy.base import Anatomy, Cut
from secateur.anatomy.carving import STAND_INS, number_attention
from secateur.errors import SecateurError
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan, Shape


def kept_part(tensor: torch.Tensor, dim: int, kept: Kept, full: int, blocks: int = 1) -> torch.Tensor:
    """The part of `tensor` that stays when `kept` of `full` heads or units do along `dim`: a view where one exists, else a gather."""
    if kept.count == full:
        return tensor
    if kept.is_prefix:
        wide = tensor.shape[dim] // blocks * kept.count // full
        if blocks == 1:
            return tensor.narrow(dim, 0, wide)
        return tensor.unflatten(dim, (blocks, -1)).narrow(dim + 1, 0, wide).flatten(dim, dim + 1)
    index = torch.from_numpy(kept.indices()).to(tensor.device)
    return tensor.unflatten(dim, (blocks, full, -1)).index_select(dim + 1, index).flatten(dim, dim + 2)


def weight_dim(module: nn.Module, side: str) -> int:
    """Which dimension of the module's weight is its `side`: a Linear stores (out, in), a Conv1D (in, out)."""
    return int((side == "in") ^ (type(module).__name__ == "Conv1D"))


def cut_tensors(module: nn.Module, cut: Cut) -> Iterator[tuple[str, torch.Tensor, int]]:
    """(name, tensor, dimension) of each parameter of the module that the cut shrinks."""
    yield "weight", module.weight, weight_dim(module, cut.side)  # type: ignore[misc]
    if cut.side == "out" and module.bias is not None:
        yield "bias", module.bias, 0  # type: ignore[misc]


def _shallow(module: nn.Module) -> nn.Module:
    clone = module.__class__.__new__(module.__class__)
    clone.__dict__ = dict(module.__dict__)
    for name in ("_parameters", "_buffers", "_modules"):
        clone.__dict__[name] = dict(module.__dict__[name])
    for name in ("_forward_hooks", "_forward_pre_hooks"):  # a hook set on a ghost must not stay on the shared layer
        clone.__dict__[name] = OrderedDict(module.__dict__[name])
    return clone


def _cloned(layer: nn.Module, path: str) -> nn.Module:
    """The sub-module of a ghost at `path`, cloned on the way so that the shared one is not touched."""
    for name in path.split("."):
        child = layer._modules[name]
        assert child is not None
        if "_ghost" not in child.__dict__:
            child = _shallow(child)
            child.__dict__["_ghost"] = True
            layer._modules[name] = child
        layer = child
    return layer


_SIZES = {("Linear", "out"): "out_features", ("Linear", "in"): "in_features", ("Conv1D", "out"): "nf", ("Conv1D", "in"): "nx"}


def ghost_layer(layer: nn.Module, plan: LayerPlan, anatomy: Anatomy, shape: Shape) -> nn.Module:
    """One ghost of a shared layer."""
    ghost = _shallow(layer)
    kept = {"heads": plan.heads, "units": plan.units}
    full = {"heads": shape.heads, "units": shape.units}
    for by, replaced in (("heads", anatomy.without_heads), ("units", anatomy.without_units)):
        if kept[by].count == 0:
            for path, stand_in in replaced:
                parent, _, name = path.rpartition(".")
                holder = _cloned(ghost, parent) if parent else ghost
                holder._modules[name] = STAND_INS[stand_in]()
    for cut in anatomy.cuts:
        if 0 < kept[cut.by].count:
            module = _cloned(ghost, cut.module)
            for name, tensor, dim in list(cut_tensors(module, cut)):
                module._parameters[name] = kept_part(tensor, dim, kept[cut.by], full[cut.by], cut.blocks)  # type: ignore[assignment]
            size = _SIZES.get((type(module).__name__, cut.side))
            if size:
                module.__dict__[size] = module.weight.shape[weight_dim(module, cut.side)]  # type: ignore[union-attr]
    for path, name, by in anatomy.scaled:
        if kept[by].count:
            module = _cloned(ghost, path)
            module.__dict__[name] = module.__dict__[name] * kept[by].count // full[by]
    if plan.heads.count:  # layer_idx is renumbered: the modules that hold one must be clones
        for path, module in list(ghost.named_modules()):
            if getattr(module, "layer_idx", None) is not None and path:
                _cloned(ghost, path)
    return ghost


def ghost_layers(layers: Sequence[nn.Module], plan: Plan, anatomy: Anatomy, shape: Shape) -> list[nn.Module]:
    """The ghosts of a plan's layers, their attention numbered for the cache."""
    ghosts = [ghost_layer(layers[p.index], p, anatomy, shape) for p in plan.layers]
    number_attention(ghosts)
    return ghosts


def materialise(ghosts: Sequence[nn.Module]) -> None:
    """Turn the views that ghosts hold into parameters of their own, in place."""
    for ghost in ghosts:
        for module in ghost.modules():
            for name, tensor in module._parameters.items():
                if tensor is not None and not isinstance(tensor, nn.Parameter):
                    trained = tensor.requires_grad
                    module._parameters[name] = nn.Parameter(tensor.detach().clone(memory_format=torch.contiguous_format), trained)
            module.__dict__.pop("_ghost", None)


def _refuse(what: str) -> NoReturn:
    raise SecateurError(
        f"{what} inside `select` would see the sub-network's borrowed weights. Leave the context first, or use `extract` for a copy."
    )


class GhostStack(nn.ModuleList):
    """The list of ghosts while a sub-network is selected. Only forward and backward are allowed meanwhile."""

    def train(self, mode: bool = True) -> GhostStack:
        _refuse("switching between train and eval mode")

    def named_modules(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Module]]:
        _refuse("counting, listing or moving parameters")

    def _apply(self, *args: Any, **kwargs: Any) -> GhostStack:
        _refuse("moving or casting the model")

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        _refuse("saving")


