"""Latency and memory of sub-networks that were not measured, from those of the same run that were."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from secateur.architecture import Architecture
from secateur.estimators.latency_fit import solve
from secateur.estimators.pruned_latency import PrunedParts
from secateur.spaces.pruning import Layer, Shape

#: With fewer measured networks nothing is predicted.
LEAST = 3


class Prediction:
    """What the parts of networks take of each quantity, fitted to those that were `measured`, by key or as `unpruned`."""

    def __init__(
        self, shape: Shape, architectures: Mapping[str, Architecture], measured: Mapping[str, Mapping[str, float]]
    ) -> None:
        self.parts, self.measured = PrunedParts(shape), measured
        known = {**architectures, "unpruned": Layer(shape).largest()}
        self.coefficients: dict[str, np.ndarray] = {}
        for name in ("latency", "memory"):
            keys = [key for key in measured if measured[key].get(name) and key in known]
            if len(keys) >= LEAST:
                rows = self.parts.rows([known[key] for key in keys], [()])
                self.coefficients[name] = solve(rows, np.array([measured[key][name] for key in keys]))

    def of(self, architecture: Architecture) -> dict[str, float]:
        """Latency and memory, those of which enough networks were measured."""
        (row,) = self.parts.rows([architecture], [()])
        return {name: float(row @ found) for name, found in self.coefficients.items()}
