"""An order in which the members of a front cover it: each as far as can be from those before it (Salinas et al. 2021)."""

from __future__ import annotations

import numpy as np


def epsilon_net(points: np.ndarray) -> np.ndarray:
    """The (n,) indices of the points (n, m) in that order, after their columns were scaled to [0, 1]; it begins with the first
    column's least, and ties go to the point that comes first."""
    points = np.asarray(points, dtype=np.float64)
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    span = np.ptp(points, axis=0)
    scaled = (points - points.min(axis=0)) / np.where(span > 0, span, 1.0)
    order = [int(np.argmin(scaled[:, 0]))]
    distance = np.linalg.norm(scaled - scaled[order[0]], axis=1)
    left = np.ones(len(points), dtype=bool)
    left[order[0]] = False
    while left.any():
        far = int(np.argmax(np.where(left, distance, -1.0)))
        order.append(far)
        left[far] = False
        distance = np.minimum(distance, np.linalg.norm(scaled - scaled[far], axis=1))
    return np.array(order)
