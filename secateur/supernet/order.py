"""Importance ordering: sort every layer's heads and units so that 'the first h' means 'the h that matter most'.

The score is first-order Taylor: how much the loss would change, to first order, if a head (or unit) were removed:
|Σ w · ∂L/∂w| over its columns of the projection back to the model's width (cf. Michel et al. 2019; Molchanov et al. 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from secateur.errors import EvaluationFailure
from secateur.supernet.ghosts import cut_tensors, weight_dim
from secateur.supernet.supernet import Supernet


@dataclass(frozen=True)
class Importance:
    """Scores of the unpruned network: heads (L, H) and units (L, U), in the network's order at the time."""

    heads: np.ndarray
    units: np.ndarray

    def order(self) -> Order:
        """The permutation that sorts each layer by falling score; equal scores keep their places."""
        return Order(np.argsort(-self.heads, axis=1, kind="stable"), np.argsort(-self.units, axis=1, kind="stable"))

    def as_arrays(self) -> dict[str, np.ndarray]:
        return {"importance.heads": self.heads, "importance.units": self.units}


@dataclass(frozen=True)
class Order:
    """Which original head (L, H) and unit (L, U) stands at each place."""

    heads: np.ndarray
    units: np.ndarray

    def as_arrays(self) -> dict[str, np.ndarray]:
        return {"order.heads": self.heads, "order.units": self.units}


def importance(supernet: Supernet, batches: Iterable[Mapping[str, torch.Tensor]]) -> Importance:
    """Score every head and unit on batches that hold labels. The model's gradients are left empty, its mode as it was."""
    model = supernet.model
    shape = supernet.shape
    scores = {"heads": np.zeros((shape.layers, shape.heads)), "units": np.zeros((shape.layers, shape.units))}
    training = model.training
    model.eval()
    model.zero_grad(set_to_none=True)
    try:
        for batch in batches:
            model(**batch).loss.backward()
            for by, table in scores.items():
                cut = supernet.anatomy.output(by)
                for row, layer in zip(table, supernet.layers, strict=True):
                    module: Any = layer.get_submodule(cut.module)
                    dim = weight_dim(module, "in")
                    taylor = (module.weight * module.weight.grad).sum(1 - dim)
                    row += taylor.view(len(row), -1).sum(1).abs().double().cpu().numpy()
            model.zero_grad(set_to_none=True)
    finally:
        model.train(training)
    if not all(np.isfinite(t).all() for t in scores.values()):
        raise EvaluationFailure("importance scores are not finite: the loss or its gradients overflow")
    return Importance(scores["heads"], scores["units"])


@torch.no_grad()
def reorder(supernet: Supernet, order: Order) -> None:
    """Permute the heads and units of every layer, in place. The network's function does not change."""
    for i, layer in enumerate(supernet.layers):
        for cut in supernet.anatomy.cuts:
            places = torch.from_numpy(np.ascontiguousarray(getattr(order, cut.by)[i]))
            for _, tensor, dim in cut_tensors(layer.get_submodule(cut.module), cut):
                parts = tensor.unflatten(dim, (cut.blocks, len(places), -1))
                tensor.copy_(parts.index_select(dim + 1, places.to(tensor.device)).flatten(dim, dim + 2))
