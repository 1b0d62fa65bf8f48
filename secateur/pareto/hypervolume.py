"""Hypervolume: the volume that a set of points dominates, up to a reference point. All columns minimised."""

from __future__ import annotations

import numpy as np


def hypervolume(points: np.ndarray, reference: np.ndarray) -> float:
    """The volume between the points (n, m) and `reference` (m,). Points beyond the reference add nothing."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    reference = np.asarray(reference, dtype=np.float64)
    inside = points[np.all(points < reference, axis=1)] if len(points) else points
    if len(inside) == 0:
        return 0.0
    import moocore

    return float(moocore.hypervolume(inside, ref=reference))


def hypervolume_over_time(points: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The (n,) hypervolumes of the first 1, 2, … n of the points (n, m)."""
    out = np.zeros(len(points))
    front = points[:0]
    for i, point in enumerate(points):
        if np.any(np.all(front <= point, axis=1)):  # it adds nothing
            out[i] = out[i - 1]
            continue
        front = np.vstack([front[~np.all(point <= front, axis=1)], point])
        out[i] = hypervolume(front, reference)
    return out
