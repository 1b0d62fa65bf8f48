"""`layer`: a bit per layer (Klein et al. 2024, algorithm 1). `sublayer`: a bit per attention and per feed-forward
(the LAYER space of Klein et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from secateur.spaces.pruning.base import BinarySpace, Limit, refuse_bounds, whole_numbers
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan, Shape


class Layer(BinarySpace):
    """{0, 1}^L."""

    name = "layer"

    def __init__(self, shape: Shape, heads: Limit = None, units: Limit = None, layers: Limit = None) -> None:
        refuse_bounds(self.name, heads=heads, units=units, layers=layers)
        super().__init__(shape, shape.layers)

    def plan_of(self, values: np.ndarray) -> Plan:
        heads, units = Kept.first(self.shape.heads), Kept.first(self.shape.units)
        return Plan.of([LayerPlan(i, heads, units) for i, bit in enumerate(values) if bit])

    def choices_of(self, values: np.ndarray) -> dict[str, Any]:
        return {"layers": values.tolist()}

    def values_of(self, choices: Mapping[str, Any]) -> np.ndarray:
        return whole_numbers(choices, "layers").reshape(-1)


class Sublayer(BinarySpace):
    """{0, 1}^2L: attention and feed-forward of each layer in turn."""

    name = "sublayer"

    def __init__(self, shape: Shape, heads: Limit = None, units: Limit = None, layers: Limit = None) -> None:
        refuse_bounds(self.name, heads=heads, units=units, layers=layers)
        super().__init__(shape, 2 * shape.layers)

    def plan_of(self, values: np.ndarray) -> Plan:
        pairs = values.reshape(-1, 2)
        return Plan.of(
            [
                LayerPlan(i, Kept.first(int(a) * self.shape.heads), Kept.first(int(f) * self.shape.units))
                for i, (a, f) in enumerate(pairs)
            ]
        )

    def choices_of(self, values: np.ndarray) -> dict[str, Any]:
        pairs = values.reshape(-1, 2)
        return {"attention": pairs[:, 0].tolist(), "feed_forward": pairs[:, 1].tolist()}

    def values_of(self, choices: Mapping[str, Any]) -> np.ndarray:
        return whole_numbers(choices, "attention", "feed_forward").T.reshape(-1)
