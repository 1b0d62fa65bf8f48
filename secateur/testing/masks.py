"""The mask reference: a sub-network run on full-size layers, what is pruned multiplied by zero.

It costs as much as the whole network, so it serves only to compare with: tests for equality, benchmarks for speed. It is
written with hooks alone and shares no code with the slices it checks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from secateur.spaces.pruning.plan import Kept, Plan
from secateur.supernet.supernet import Supernet


def _first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs["hidden_states"]


def _like(output: Any, states: torch.Tensor) -> Any:
    """`states` in the form of the module's output: alone, or first in a tuple."""
    return (states, *output[1:]) if isinstance(output, tuple) else states


def _hand_on(module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
    return _like(output, _first(args, kwargs))


def _hand_on_same_width(module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
    states = _first(args, kwargs)
    return states if states.shape == output.shape else output  # one that widens feeds a module that is removed too


def _hand_on_residual(module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
    return args[1] if len(args) > 1 else kwargs["input_tensor"]


def _nothing(module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
    return _like(output, torch.zeros_like(output[0] if isinstance(output, tuple) else output))


#: What a removed module does, by the name of its stand-in in an anatomy.
_REMOVED = {
    "PassAttention": _hand_on,
    "Identity": _hand_on_same_width,
    "PassResidual": _hand_on_residual,
    "NoAttention": _nothing,
    "NoFeedForward": _nothing,
}


def _masking(projection: nn.Module, kept: Kept, full: int) -> Any:
    """A pre-hook that zeroes what is pruned at the input of a projection."""
    weight: Any = projection.weight
    width = weight.shape[0 if type(projection).__name__ == "Conv1D" else 1]
    mask = torch.zeros(full, width // full, dtype=weight.dtype, device=weight.device)
    mask[torch.from_numpy(kept.indices())] = 1
    mask = mask.flatten()

    def hook(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (args[0] * mask, *args[1:])

    return hook


@contextlib.contextmanager
def masked(supernet: Supernet, plan: Plan) -> Iterator[Any]:
    """Within the context the supernet's model computes the sub-network of `plan` with masks. Gives the model."""
    plan.check(supernet.shape)
    anatomy, shape = supernet.anatomy, supernet.shape
    plans = {p.index: p for p in plan.layers}
    handles = []
    try:
        for index, layer in enumerate(supernet.layers):
            if index not in plans:
                handles.append(layer.register_forward_hook(_hand_on, with_kwargs=True))
                continue
            parts = (
                ("heads", plans[index].heads, shape.heads, anatomy.without_heads),
                ("units", plans[index].units, shape.units, anatomy.without_units),
            )
            for by, kept, full, without in parts:
                if kept.count == 0:
                    for path, stand_in in without:
                        removed = layer.get_submodule(path)
                        handles.append(removed.register_forward_hook(_REMOVED[stand_in], with_kwargs=True))
                elif kept.count < full:
                    projection = layer.get_submodule(anatomy.output(by).module)
                    handles.append(projection.register_forward_pre_hook(_masking(projection, kept, full)))
        yield supernet.model
    finally:
        for handle in handles:
            handle.remove()
