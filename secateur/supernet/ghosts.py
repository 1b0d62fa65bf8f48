"""Ghost layers: shallow clones of the kept layers whose parameters are views of (or gathers from) the shared ones.

They cost what the sub-network costs, their gradients reach the shared weights, and they stay exact under gradient checkpointing
even when backward runs after the shared layers are back in place.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch import nn

from secateur.anatomy.base import Anatomy, Cut
from secateur.anatomy.carving import STAND_INS, OwnHeads, number_attention
from secateur.errors import SecateurError
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan, Shape


class _Gather(torch.autograd.Function):
    """`index_select` that keeps its index when a backward pass frees the graph: one ghost may serve several passes."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
        ctx.shape, ctx.dim, ctx.index = tensor.shape, dim, index
        return tensor.index_select(dim, index)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (gradient,) = gradients
        return gradient.new_zeros(ctx.shape).index_copy_(ctx.dim, ctx.index, gradient), None, None


def kept_part(tensor: torch.Tensor, dim: int, kept: Kept, full: int, blocks: int = 1) -> torch.Tensor:
    """The part of `tensor` that stays when `kept` of `full` heads or units do along `dim`.

    A view where one exists, else a gather: a copy of the weights as they are now, whose gradients reach them.
    """
    if kept.count == full:
        return tensor
    if kept.is_prefix:
        wide = tensor.shape[dim] // blocks * kept.count // full
        if blocks == 1:
            return tensor.narrow(dim, 0, wide)
        first: torch.Tensor = tensor.unflatten(dim, (blocks, -1)).narrow(dim + 1, 0, wide)
        return first.flatten(dim, dim + 1)
    index = torch.from_numpy(kept.indices()).to(tensor.device)
    parts: torch.Tensor = _Gather.apply(tensor.unflatten(dim, (blocks, full, -1)), dim + 1, index)  # type: ignore[no-untyped-call]
    return parts.flatten(dim, dim + 2)


def weight_dim(module: nn.Module, side: str) -> int:
    """Which dimension of the module's weight is its `side`: a Linear stores (out, in), a Conv1D (in, out)."""
    return int((side == "in") ^ (type(module).__name__ == "Conv1D"))


def cut_tensors(module: nn.Module, cut: Cut) -> Iterator[tuple[str, torch.Tensor, int]]:
    """(name, tensor, dimension) of each parameter of the module that the cut shrinks."""
    yield "weight", module.weight, weight_dim(module, cut.side)  # type: ignore[misc]
    if cut.side == "out" and module.bias is not None:
        yield "bias", module.bias, 0  # type: ignore[misc]


#: Where a module keeps its hooks: one set on a ghost must not stay on the shared layer.
_HOOKS = tuple(name for name, value in nn.Module().__dict__.items() if isinstance(value, OrderedDict) and "_hooks" in name)


def _shallow(module: nn.Module) -> nn.Module:
    clone = module.__class__.__new__(module.__class__)
    attributes = dict(module.__dict__)
    for name in ("_parameters", "_buffers", "_modules"):
        attributes[name] = dict(attributes[name])
    for name in _HOOKS:
        attributes[name] = OrderedDict(attributes[name])
    clone.__dict__ = attributes
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


def _numbered(module: nn.Module, prefix: str = "") -> Iterator[str]:
    """Paths of the sub-modules that know their place in the cache."""
    # `named_modules` and `getattr` would take as long as all else that a ghost needs.
    for name, child in module._modules.items():
        if child is not None:
            if child.__dict__.get("layer_idx") is not None:
                yield prefix + name
            yield from _numbered(child, f"{prefix}{name}.")


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
                holder._modules[name] = STAND_INS[stand_in]().train(layer.training)
    for cut in anatomy.cuts_of(layer):
        if kept[cut.by].count:
            module: Any = _cloned(ghost, cut.module)
            for name, tensor, dim in list(cut_tensors(module, cut)):
                module._parameters[name] = kept_part(tensor, dim, kept[cut.by], full[cut.by], cut.blocks)
            size = _SIZES.get((type(module).__name__, cut.side))
            if size:
                module.__dict__[size] = module.weight.shape[weight_dim(module, cut.side)]
    for path, name, by in anatomy.scaled:
        if kept[by].count:
            module = _cloned(ghost, path)
            module.__dict__[name] = module.__dict__[name] * kept[by].count // full[by]
    bias = anatomy.head_bias
    if bias and 0 < plan.heads.count < shape.heads:
        own = OwnHeads(bias.argument, plan.heads.indices().tolist())
        _cloned(ghost, bias.module).register_forward_pre_hook(own, with_kwargs=True)
    if plan.heads.count:  # layer_idx is renumbered: the modules that hold one must be clones
        for path in list(_numbered(ghost)):
            _cloned(ghost, path)
    return ghost


def ghost_layers(layers: nn.ModuleList, plan: Plan, anatomy: Anatomy, shape: Shape) -> list[nn.Module]:
    """The ghosts of the layers of a plan's network, their attention numbered for the cache."""
    with torch.enable_grad():  # the views know what is trained, whoever enters; a no_grad around the forward still holds there
        ghosts = [ghost_layer(layers[p.index], p, anatomy, shape) for p in anatomy.stack(plan)]
    number_attention(ghosts)
    return ghosts


def materialise(ghosts: Sequence[nn.Module]) -> None:
    """Turn the views that ghosts hold into parameters of their own, in place."""
    for ghost in ghosts:
        for module in ghost.modules():
            for name, tensor in module._parameters.items():
                if tensor is not None and not isinstance(tensor, nn.Parameter):
                    trained = tensor.requires_grad
                    module._parameters[name] = nn.Parameter(
                        tensor.detach().clone(memory_format=torch.contiguous_format), trained
                    )
            module.__dict__.pop("_ghost", None)


def _refuse(what: str) -> NoReturn:
    raise SecateurError(
        f"{what} inside `select` would see the sub-network's borrowed weights. "
        "Leave the context first, or use `extract` for a copy."
    )


class _NoParameters(dict[str, Any]):
    """What a GhostStack shows to whoever lists the model's parameters."""

    def items(self) -> NoReturn:
        _refuse("counting or listing parameters")


class GhostStack(nn.ModuleList):
    """The list of ghosts while a sub-network is selected. Only forward and backward are allowed meanwhile."""

    def __init__(self, ghosts: Sequence[nn.Module]) -> None:
        super().__init__(ghosts)
        self.__dict__["_parameters"] = _NoParameters()

    def named_modules(
        self, memo: set[nn.Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, nn.Module]]:
        """The stack alone: DistributedDataParallel lists buffers in every pass, and they must be the same for every plan."""
        yield prefix, self

    def train(self, mode: bool = True) -> GhostStack:
        _refuse("switching between train and eval mode")

    def _apply(self, *args: Any, **kwargs: Any) -> GhostStack:
        _refuse("moving or casting the model")

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        _refuse("saving")

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        _refuse("loading weights")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        _refuse("copying or pickling the model")


def _refusal(what: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        _refuse(what)

    return refuse


#: The same on the model and its base model themselves: a call that reaches the ghosts has changed what lies before them.
REFUSALS: Mapping[str, Callable[..., NoReturn] | None] = {
    "train": _refusal("switching between train and eval mode"),
    "_apply": _refusal("moving or casting the model"),
    "state_dict": _refusal("saving"),
    "save_pretrained": _refusal("saving"),
    "_load_from_state_dict": _refusal("loading weights"),
    "gradient_checkpointing_enable": _refusal("switching gradient checkpointing"),
    "gradient_checkpointing_disable": _refusal("switching gradient checkpointing"),
}
NO_REFUSALS: Mapping[str, Callable[..., NoReturn] | None] = dict.fromkeys(REFUSALS)


@contextlib.contextmanager
def instance_attributes(module: nn.Module, values: Mapping[str, Any]) -> Iterator[None]:
    """Within the context these attributes of this one module have these values; None: as its class says."""
    before = {name: module.__dict__.get(name) for name in values}

    def put_all(attributes: Mapping[str, Any]) -> None:
        for name, value in attributes.items():
            module.__dict__.pop(name, None)
            if value is not None:
                module.__dict__[name] = value

    put_all(values)
    try:
        yield
    finally:
        put_all(before)
