"""All depths from one pass: a network of depth L computes the hidden states of every shallower one on its way.

Each then goes through the head. The head is run by the model itself on a stack that replays a stored hidden state, so that
final norms, poolers and every kind of head need no code of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from secateur.spaces.pruning.plan import Plan
from secateur.supernet.supernet import Supernet


class _Replay(nn.Module):
    """A layer that returns what it was given beforehand, whatever comes in."""

    def __init__(self) -> None:
        super().__init__()
        self.states: torch.Tensor | None = None

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        assert self.states is not None
        return self.states


def sweep(supernet: Supernet, plan: Plan, depths: Sequence[int], batch: Mapping[str, torch.Tensor]) -> dict[int, Any]:
    """Outputs of the first d layers of `plan`, for each d of `depths` and for the whole plan, from one pass through them."""
    captured: dict[int, torch.Tensor] = {}
    wanted = {d for d in depths if d < len(plan.layers)}
    outputs: dict[int, Any] = {}
    with supernet.select(plan) as model:
        stack: Any = supernet.base.get_submodule(supernet.anatomy.layers)

        def keep(place: int) -> Any:
            def hook(module: nn.Module, args: Any, kwargs: Any) -> None:
                captured[place] = args[0] if args else kwargs["hidden_states"]

            return hook

        hooks = [
            layer.register_forward_pre_hook(keep(place), with_kwargs=True)
            for place, layer in enumerate(stack)
            if place in wanted
        ]
        try:
            outputs[len(plan.layers)] = model(**batch)
        finally:
            for hook in hooks:
                hook.remove()
    replay = _Replay()
    with supernet.select(Plan.uniform(1, 1, 1)), supernet.replaced(nn.ModuleList([replay])) as model:
        for depth in sorted(wanted):
            replay.states = captured[depth]
            outputs[depth] = model(**batch)
    return outputs
