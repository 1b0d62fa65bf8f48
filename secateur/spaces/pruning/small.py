"""`small`: three numbers for the whole network. First heads and units of the first layers (Klein et al. 2024, algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.spaces.domains import Range
from secateur.spaces.pruning.base import Limit, PruningSpace, whole_numbers
from secateur.spaces.pruning.plan import Plan, Shape


class Small(PruningSpace):
    """heads 0…H × units 0…U × layers 0…L."""

    name = "small"

    def __init__(self, shape: Shape, heads: Limit = None, units: Limit = None, layers: Limit = None) -> None:
        super().__init__(
            shape,
            [
                Range.parse(heads or "..", "heads", shape.heads),
                Range.parse(units or "..", "units", shape.units),
                Range.parse(layers or "..", "layers", shape.layers),
            ],
        )

    def plan_of(self, values: np.ndarray) -> Plan:
        heads, units, layers = (int(v) for v in values)
        return Plan.uniform(layers, heads, units)

    def choices_of(self, values: np.ndarray) -> dict[str, Any]:
        return dict(zip(("heads", "units", "layers"), (int(v) for v in values), strict=True))

    def values_of(self, choices: Mapping[str, Any]) -> np.ndarray:
        return whole_numbers(choices, "heads", "units", "layers")

    def line(self, weights: np.ndarray, least: bool = True) -> Callable[[float], Architecture]:
        """At full depth, since the pass of a deep network holds those of all others; without `least` depth grows as well."""
        return super().line(np.array([*weights[:2], np.finfo(np.float64).tiny]) if least else weights)

    def depths(self, architecture: Architecture) -> list[Architecture]:
        """The architectures of equal heads and units at every smaller depth of the space: free with one forward pass."""
        heads, units, layers = self.values(architecture)
        shallower = list(range(self.domains[2].low, int(layers), self.domains[2].step))
        return [self.from_values(np.array([heads, units, d])) for d in shallower]
