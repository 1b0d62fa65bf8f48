"""`medium`: a number of heads and of units for each layer (Klein et al. 2024, algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from secateur.errors import ConfigurationError
from secateur.spaces.domains import Range
from secateur.spaces.pruning.base import Limit, PruningSpace, whole_numbers
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan, Shape


class Medium(PruningSpace):
    """(heads 0…H × units 0…U) for each layer."""

    name = "medium"

    def __init__(self, shape: Shape, heads: Limit = None, units: Limit = None, layers: Limit = None) -> None:
        if layers is not None:
            raise ConfigurationError(
                "the space `medium` takes no range for `layers`: a layer with no heads and no units is removed."
            )
        per_layer = [
            Range.parse(heads or "..", "heads", shape.heads),
            Range.parse(units or "..", "units", shape.units),
        ]
        super().__init__(shape, per_layer * shape.layers)

    def plan_of(self, values: np.ndarray) -> Plan:
        pairs = values.reshape(-1, 2)
        return Plan.of([LayerPlan(i, Kept.first(h), Kept.first(u)) for i, (h, u) in enumerate(pairs)])

    def choices_of(self, values: np.ndarray) -> dict[str, Any]:
        pairs = values.reshape(-1, 2)
        return {"heads": pairs[:, 0].tolist(), "units": pairs[:, 1].tolist()}

    def values_of(self, choices: Mapping[str, Any]) -> np.ndarray:
        return whole_numbers(choices, "heads", "units").T.reshape(-1)
