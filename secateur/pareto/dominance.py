"""Dominance between points, all columns minimised."""

from __future__ import annotations

import numpy as np


def dominates(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether point `a` (m,) is nowhere worse than `b` (m,) and somewhere better."""
    return bool(np.all(a <= b) and np.any(a < b))


def non_dominated(points: np.ndarray, *, equal: bool = True) -> np.ndarray:
    """A boolean (n,) array: which of the points (n, m) no other dominates. Equal points are all kept, or the first of them.

    Raises ValueError for a number that is not finite.
    """
    points = _finite(points)
    if len(points) == 0:
        return np.zeros(0, dtype=bool)
    import moocore

    return np.asarray(moocore.is_nondominated(points, keep_weakly=equal))


def ranks(points: np.ndarray) -> np.ndarray:
    """The (n,) ranks of non-dominated sorting: 0 for the front, 1 for the front of what remains, and so on.

    Raises ValueError for a number that is not finite.
    """
    points = _finite(points)
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    import moocore

    return np.asarray(moocore.pareto_rank(points), dtype=np.int64)


def _finite(points: np.ndarray) -> np.ndarray:
    points = np.ascontiguousarray(points, dtype=np.float64)
    wrong = np.argwhere(~np.isfinite(points))
    if len(wrong):
        place = tuple(int(i) for i in wrong[0])
        raise ValueError(f"`points` must be finite numbers, got {points[place]} at {place}. Leave out what was not measured.")
    return points
