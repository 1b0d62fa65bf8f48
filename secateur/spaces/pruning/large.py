"""`large`: a bit per head and per unit (Klein et al. 2024, algorithm 4). 37,008 bits for a 12-layer BERT, kept packed."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from secateur.spaces.pruning.base import BinarySpace, Limit, refuse_bounds
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan, Shape


class Large(BinarySpace):
    """{0, 1}^(L(H + U)): layer by layer, its heads and then its units."""

    name = "large"

    def __init__(self, shape: Shape, heads: Limit = None, units: Limit = None, layers: Limit = None) -> None:
        refuse_bounds(self.name, heads=heads, units=units, layers=layers)
        super().__init__(shape, shape.layers * (shape.heads + shape.units))

    def plan_of(self, values: np.ndarray) -> Plan:
        rows = values.reshape(self.shape.layers, -1)
        heads, units = rows[:, : self.shape.heads], rows[:, self.shape.heads :]
        return Plan.of(
            [
                LayerPlan(i, Kept.chosen(np.flatnonzero(heads[i])), Kept.chosen(np.flatnonzero(units[i])))
                for i in range(self.shape.layers)
            ]
        )

    def choices_of(self, values: np.ndarray) -> dict[str, Any]:
        return {"bits": base64.b64encode(np.packbits(values.astype(np.uint8)).tobytes()).decode()}

    def values_of(self, choices: Mapping[str, Any]) -> np.ndarray:
        packed = np.frombuffer(base64.b64decode(choices["bits"], validate=True), dtype=np.uint8)
        bits = self.shape.layers * (self.shape.heads + self.shape.units)
        if len(packed) != -(-bits // 8):
            raise ValueError(f"{bits} bits were expected, got {8 * len(packed)}")
        unpacked = np.unpackbits(packed).astype(np.int64)
        if np.any(unpacked[bits:]):
            raise ValueError("unused bits at the end must be 0")
        return unpacked[:bits]
