"""Importance ordering: sort every layer's heads and units so that 'the first h' means 'the h that matter most'.

The score is first-order Taylor: how much the loss would change, to first order, if a head (or unit) were removed. That is
the gradient of its gate, |∂L/∂g|; and since the gate scales its columns w of the projection back to the model's width, it is
|Σ w · ∂L/∂w| (cf. Michel et al. 2019; Molchanov et al. 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from secateur.anatomy.base import HEADS, UNITS
from secateur.errors import ConfigurationError, DataError
from secateur.spaces.pruning.plan import Shape
from secateur.supernet.gates import gate_gradients
from secateur.supernet.ghosts import cut_tensors
from secateur.supernet.supernet import Supernet

#: The file with the order of heads and units, and the scores it comes from.
ORDER = "order.safetensors"


@dataclass(frozen=True)
class Importance:
    """Scores of the unpruned network: heads (L, H) and units (L, U), in the network's order at the time."""

    heads: np.ndarray
    units: np.ndarray

    def order(self, *, alike: bool = False) -> Order:
        """The permutation that sorts each layer by falling score; equal scores keep their places.

        Where heads must be ordered `alike` in all layers (`Supernet.heads_alike`), a head's score is its mean share of what the
        heads of a layer score together.
        """
        heads = self.heads
        if alike:
            totals = heads.sum(1, keepdims=True)
            shares = np.divide(heads, totals, out=np.zeros_like(heads, dtype=np.float64), where=totals > 0)
            heads = np.broadcast_to(shares.mean(0), heads.shape)
        return Order(np.argsort(-heads, axis=1, kind="stable"), np.argsort(-self.units, axis=1, kind="stable"))

    def as_arrays(self) -> dict[str, np.ndarray]:
        """What is saved with a run."""
        return {"importance.heads": self.heads, "importance.units": self.units}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Importance:
        """From what `as_arrays` gave."""
        return cls(arrays["importance.heads"], arrays["importance.units"])


@dataclass(frozen=True)
class Order:
    """Which original head (L, H) and unit (L, U) stands at each place."""

    heads: np.ndarray
    units: np.ndarray

    def as_arrays(self) -> dict[str, np.ndarray]:
        """What is saved with a run."""
        return {"order.heads": self.heads, "order.units": self.units}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Order:
        """From what `as_arrays` gave."""
        return cls(arrays["order.heads"], arrays["order.units"])

    def check(self, shape: Shape) -> None:
        """Raise ConfigurationError unless this permutes the heads and units of each layer of a network of this shape."""
        for name, table, count in (("heads", self.heads, shape.heads), ("units", self.units, shape.units)):
            expected = np.broadcast_to(np.arange(count), (shape.layers, count))
            if table.shape != expected.shape or not np.array_equal(np.sort(table, axis=1), expected):
                raise ConfigurationError(
                    f"the order of `{name}` must be a permutation of 0…{count - 1} for each of {shape.layers} layers, "
                    f"got an array of shape {table.shape}. It belongs to another network, or is damaged."
                )


def importance(supernet: Supernet, batches: Iterable[Mapping[str, torch.Tensor]]) -> Importance:
    """Score every head and unit on batches that hold labels. The model and its gradients are left as they were.

    Raises DataError without a batch, EvaluationFailure where the scores are not finite.
    """
    scores: dict[str, np.ndarray] = {}
    for batch in batches:
        gradients = gate_gradients(supernet, batch)
        for by in (HEADS, UNITS):
            scores[by] = scores.get(by, 0.0) + gradients.of_batch(by).abs().double().cpu().numpy()
    if not scores:
        raise DataError("importance scores need at least one batch, got none.")
    return Importance(scores[HEADS], scores[UNITS])


@torch.no_grad()
def reorder(supernet: Supernet, order: Order) -> None:
    """Permute the heads and units of every layer, in place. The network's function does not change.

    Raises ConfigurationError for an order of another network, or one that orders heads by layer where layers share a table of
    them.
    """
    order.check(supernet.shape)
    if supernet.heads_alike:
        _reorder_table(supernet, order)
    for i, layer in enumerate(supernet.layers):
        for cut in supernet.anatomy.cuts_of(layer):
            places = torch.from_numpy(np.ascontiguousarray(getattr(order, cut.by)[i]))
            for _, tensor, dim in cut_tensors(layer.get_submodule(cut.module), cut):
                parts = tensor.unflatten(dim, (cut.blocks, len(places), -1))
                tensor.copy_(parts.index_select(dim + 1, places.to(tensor.device)).flatten(dim, dim + 2))


def _reorder_table(supernet: Supernet, order: Order) -> None:
    """The columns of a table that all layers share follow their heads."""
    bias = supernet.anatomy.head_bias
    assert bias is not None
    if (order.heads != order.heads[0]).any():
        raise ConfigurationError(
            f"the order of `heads` must be the same in all layers of this model, which share `{bias.table}`, a table with a "
            "column for each head. Order them with `order(alike=True)`."
        )
    table: Any = supernet.base.get_submodule(bias.table).weight  # (positions, heads)
    table.copy_(table[:, torch.from_numpy(np.ascontiguousarray(order.heads[0])).to(table.device)])
