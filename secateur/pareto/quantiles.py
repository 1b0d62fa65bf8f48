"""Quantile normalisation, as Klein et al. (2024, section 4.1) make objectives comparable."""

from __future__ import annotations

import numpy as np


def quantile_normalise(points: np.ndarray, among: np.ndarray | None = None) -> np.ndarray:
    """Each column of `points` (n, m) as its position in [0, 1] among the values of `among` (k, m), default the points.

    The smallest value maps to 0, the largest to 1, ties to the middle of their positions.
    """
    points = np.asarray(points, dtype=np.float64)
    among = points if among is None else np.asarray(among, dtype=np.float64)
    out = np.empty_like(points)
    for column in range(points.shape[1]):
        ordered = np.sort(among[:, column])
        left = np.searchsorted(ordered, points[:, column], side="left")
        right = np.searchsorted(ordered, points[:, column], side="right")
        position = (left + np.maximum(right - 1, left)) / 2
        out[:, column] = np.clip(position / max(len(ordered) - 1, 1), 0.0, 1.0)
    return out
