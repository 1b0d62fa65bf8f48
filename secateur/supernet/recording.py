"""What passes between the layers of a network: its hidden states, and what else each layer is called with.

With it a layer, or one that is to stand in for it, runs by itself: masks, positions and rotary angles are those of the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from secateur.supernet.evaluating import no_cache
from secateur.supernet.supernet import Supernet


@dataclass(frozen=True)
class LayerCalls:
    """How one batch calls each layer, its hidden states left out."""

    calls: list[tuple[tuple[Any, ...], dict[str, Any]]]
    #: Which tokens are no padding, (rows, T); in multiple choice each answer is a row.
    tokens: torch.Tensor

    def run(self, layer: nn.Module, index: int, states: torch.Tensor) -> torch.Tensor:
        """What a layer in place `index` makes of hidden states (rows, T, width)."""
        args, kwargs = self.calls[index]
        return _states(layer(states, *args, **kwargs))


def recorded(supernet: Supernet, batch: Mapping[str, torch.Tensor]) -> tuple[list[torch.Tensor], LayerCalls]:
    """The hidden states before each of the whole network's layers and after the last, and how these are called."""
    states: list[torch.Tensor] = []
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        rest = dict(kwargs)
        states.append(args[0] if args else rest.pop("hidden_states"))
        calls.append((args[1:], rest))

    def after(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        states.append(_states(output))

    handles = [layer.register_forward_pre_hook(before, with_kwargs=True) for layer in supernet.layers]
    handles.append(supernet.layers[-1].register_forward_hook(after))
    try:
        supernet.model(**no_cache(supernet.model), **{name: value for name, value in batch.items() if name != "labels"})
    finally:
        for handle in handles:
            handle.remove()
    return states, LayerCalls(calls, batch["attention_mask"].flatten(0, -2).bool())


def _states(output: Any) -> torch.Tensor:
    first: torch.Tensor = output[0] if isinstance(output, tuple) else output
    return first
