"""A network under masks that are being learnt: whole layers are computed, and what is masked is multiplied by zero.

Where a layer has no head or no unit, its sub-layer is gone, normalisation and biases included: so what is extracted is what was
trained. All of it passes gradients to the masks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from secateur.anatomy.base import HEADS, UNITS
from secateur.anatomy.carving import STAND_INS, NoAttention, NoFeedForward
from secateur.methods.learned_masks.scores import Switches
from secateur.supernet import Supernet


class Switching:
    """Which switches a network's passes go by: none (all is on) until some are set."""

    now: Switches | None = None
    #: Which sub-layer, heads or units, the layer that is being passed has behind it.
    behind: str | None = None


@contextlib.contextmanager
def switched(supernet: Supernet) -> Iterator[Switching]:
    """Within the context the network goes by the switches that are set."""
    by, handles = Switching(), []
    anatomy = supernet.anatomy
    try:
        for index, layer in enumerate(supernet.layers):
            handles.append(layer.register_forward_pre_hook(_begins(by)))
            for kind, removed in ((HEADS, anatomy.without_heads), (UNITS, anatomy.without_units)):
                projection = layer.get_submodule(anatomy.output(kind).module)
                handles.append(projection.register_forward_pre_hook(_masking(by, kind, index)))
                for path, name in removed:
                    hook = _passing(by, kind, index, STAND_INS[name]())
                    handles.append(layer.get_submodule(path).register_forward_hook(hook, with_kwargs=True))
        yield by
    finally:
        for handle in handles:
            handle.remove()


def _begins(by: Switching) -> Any:
    def hook(module: nn.Module, args: tuple[Any, ...]) -> None:
        by.behind = None

    return hook


def _masking(by: Switching, kind: str, index: int) -> Any:
    """Multiplies what a projection reads of each head or unit."""

    def hook(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if by.now is None:
            return args
        mask = (by.now.heads if kind == HEADS else by.now.units)[index]
        parts = args[0].unflatten(-1, (len(mask), -1)) * mask[:, None].to(args[0].dtype)
        return (parts.flatten(-2), *args[1:])

    return hook


def _passing(by: Switching, kind: str, index: int, stand_in: nn.Module) -> Any:
    """Lets a stand-in answer where nothing is left of a sub-layer. A norm before it matters to nothing else: it stays."""

    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        if by.now is None:
            return output
        if isinstance(stand_in, nn.Identity):
            if by.behind != kind:
                return output
        else:
            by.behind = kind
        here = (by.now.attention if kind == HEADS else by.now.feed_forward)[index]
        states = _first(output)
        # One that adds nothing is as wide as what it stands in for, whatever that reads.
        nothing = isinstance(stand_in, NoAttention | NoFeedForward)
        others = torch.zeros_like(states) if nothing else _first(stand_in(*args, **kwargs)).to(states.dtype)
        found = torch.lerp(others, states, here.to(states.dtype))
        return (found, *output[1:]) if isinstance(output, tuple) else found

    return hook


def _first(output: Any) -> torch.Tensor:
    found: torch.Tensor = output[0] if isinstance(output, tuple) else output
    return found
