"""Gates: a factor on each head's output and on each unit. The loss's gradient of a gate at 1 tells what its part is worth.

A gate multiplies the input of the projection back to the model's width. Each example has gates of its own, so that one backward
pass gives the gradients of all examples apart.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from secateur.anatomy.base import HEADS, UNITS
from secateur.errors import EvaluationFailure
from secateur.supernet.evaluating import in_evaluation_mode, no_cache
from secateur.supernet.supernet import Supernet


@dataclass(frozen=True)
class GateGradients:
    """∂(a batch's loss)/∂(gate) of each of its B examples: heads (B, L, H) and units (B, L, U).

    `shares` (B,) is the part that an example's own mean loss has in the batch's loss.
    """

    heads: torch.Tensor
    units: torch.Tensor
    shares: torch.Tensor

    def of_batch(self, by: str) -> torch.Tensor:
        """∂(the batch's loss)/∂(gate shared by all examples), (L, H) or (L, U)."""
        return self._named(by).sum(0)

    def of_examples(self, by: str) -> torch.Tensor:
        """∂(an example's own loss)/∂(gate), (B, L, H) or (B, L, U). An example that has no loss has no gradient."""
        return self._named(by) / self.shares.clamp(min=torch.finfo(self.shares.dtype).tiny)[:, None, None]

    def _named(self, by: str) -> torch.Tensor:
        named: torch.Tensor = getattr(self, by)
        return named


def gate_gradients(supernet: Supernet, batch: Mapping[str, torch.Tensor]) -> GateGradients:
    """Gradients of a batch with labels, in evaluation mode. The model and its own gradients are left as they were.

    Raises EvaluationFailure where they are not finite.
    """
    model = supernet.model
    with in_evaluation_mode(model), torch.enable_grad(), _gated(supernet, len(batch["labels"])) as gates:
        loss = model(**no_cache(model), **batch).loss
        flat = torch.autograd.grad(loss, [gate for row in gates.values() for gate in row])
    layers = len(supernet.layers)
    heads, units = torch.stack(flat[:layers], 1), torch.stack(flat[layers:], 1)
    if not (torch.isfinite(heads).all() and torch.isfinite(units).all()):
        raise EvaluationFailure("importance scores are not finite: the loss or its gradients overflow")
    return GateGradients(heads, units, _shares(batch["labels"]).to(heads))


def _shares(labels: torch.Tensor) -> torch.Tensor:
    """Each example counts alike; in language modelling, where labels are (B, T), each token that is to be predicted does."""
    if labels.dim() == 1:
        return torch.full((len(labels),), 1 / len(labels))
    predicted = (labels[:, 1:] != -100).sum(1)
    return predicted / predicted.sum()


@contextlib.contextmanager
def _gated(supernet: Supernet, examples: int) -> Iterator[dict[str, list[torch.Tensor]]]:
    """Within the context heads and units have gates of 1, a row per example: by `heads` and `units`, by layer."""
    gates: dict[str, list[torch.Tensor]] = {HEADS: [], UNITS: []}
    handles = []
    try:
        for by, row in gates.items():
            for layer in supernet.layers:
                module: Any = layer.get_submodule(supernet.anatomy.output(by).module)
                gate = module.weight.new_ones(examples, getattr(supernet.shape, by)).requires_grad_()
                row.append(gate)
                handles.append(module.register_forward_pre_hook(_multiplying(gate)))
        yield gates
    finally:
        for handle in handles:
            handle.remove()


def _multiplying(gate: torch.Tensor) -> Any:
    def hook(module: torch.nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        states = args[0]  # (B, T, width), in multiple choice (B × answers, T, width), in OPT's feed-forward (B × T, width)
        rows = gate.repeat_interleave(len(states) // len(gate), 0)
        rows = rows.view(len(states), *[1] * (states.dim() - 2), -1, 1)
        parts = states.unflatten(-1, (gate.shape[1], -1)) * rows
        return (parts.flatten(-2), *args[1:])

    return hook
