"""What passes between the layers of a network: its hidden states, and what else each layer is called with.

With it a layer, or one that is to stand in for it, runs by itself: masks, positions and rotary angles are those of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    #: What the model does to the first layer's output before the second layer.
    after_first: Callable[[torch.Tensor], torch.Tensor] | None = None

    def run(self, layer: nn.Module, index: int, states: torch.Tensor) -> torch.Tensor:
        """What the layer after place `index` reads where a layer stands there and reads hidden states (rows, T, width)."""
        args, kwargs = self.calls[index]
        found = _states(layer(states, *args, **kwargs))
        return self.after_first(found) if self.after_first and index == 0 else found


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
    between, found = supernet.after_first, list[Callable[[torch.Tensor], torch.Tensor]]()
    if between is not None:

        def note(module: nn.Module, args: tuple[Any, ...]) -> None:
            found.append(lambda states: module(args[0], states, *args[2:]))

        handles.append(between.register_forward_pre_hook(note))
    try:
        supernet.model(**no_cache(supernet.model), **{name: value for name, value in batch.items() if name != "labels"})
    finally:
        for handle in handles:
            handle.remove()
    if "attention_mask" in batch:
        tokens = batch["attention_mask"].flatten(0, -2).bool()
    else:  # an image has no padding
        tokens = torch.ones(states[0].shape[:2], dtype=torch.bool, device=states[0].device)
    return states, LayerCalls(calls, tokens, found[0] if found else None)


def _states(output: Any) -> torch.Tensor:
    first: torch.Tensor = output[0] if isinstance(output, tuple) else output
    return first
