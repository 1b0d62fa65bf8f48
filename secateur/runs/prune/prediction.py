"""Latency and memory of sub-networks that were not measured, from those of the same run that were."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from secateur.spaces.pruning import Plan

#: With fewer measured networks nothing is predicted.
LEAST = 3
#: Counts of a sub-network → its latency or memory.
Fit = Callable[[np.ndarray], float]


def features(plan: Plan) -> np.ndarray:
    """What a pass takes time and room for: one for the rest of the network, then its layers, heads and units."""
    heads, units = [p.heads.count for p in plan.layers], [p.units.count for p in plan.layers]
    return np.array([1.0, sum(1 for h in heads if h), sum(1 for u in units if u), sum(heads), sum(units)])


def fits(counts: Mapping[str, np.ndarray], measured: Mapping[str, Mapping[str, float]]) -> dict[str, Fit]:
    """For latency and memory, the non-negative least squares over the measured networks; none where they are too few."""
    from scipy.optimize import nnls

    found: dict[str, Fit] = {}
    for name in ("latency", "memory"):
        keys = [key for key in counts if measured[key].get(name)]
        if len(keys) < LEAST:
            continue
        rows, values = np.stack([counts[k] for k in keys]), np.array([measured[k][name] for k in keys])
        # errors count as shares of the value: small networks matter as much as large ones
        scale = rows.max(axis=0) + (rows.max(axis=0) == 0)
        weights = nnls(rows / scale / values[:, None], np.ones(len(values)))[0] / scale
        found[name] = lambda counted, weights=weights: float(counted @ weights)  # type: ignore[misc]
    return found
