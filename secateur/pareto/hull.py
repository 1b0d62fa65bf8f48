"""The lower convex hull: the part of a front that some weighing of the objectives prefers. All columns minimised."""

from __future__ import annotations

import numpy as np

from secateur.pareto.dominance import non_dominated

#: How far from the hull, as a share of each column's range, a point still counts as on it.
TOLERANCE = 1e-9


def convex_hull(points: np.ndarray) -> np.ndarray:
    """A boolean (n,) array: which of the points (n, m) are non-dominated and minimise some weighted sum with weights ≥ 0.

    Equal points are all kept, and so are those that lie between others on a flat part of the hull.
    """
    points = np.asarray(points, dtype=np.float64)
    found = non_dominated(points)
    columns = points.shape[1] if points.ndim == 2 else 0
    distinct = np.unique(points[found], axis=0) if len(points) else points
    if columns < 2 or len(distinct) < 3:
        return found
    low, width = distinct.min(axis=0), np.ptp(distinct, axis=0)
    scaled = (distinct - low) / np.where(width > 0, width, 1.0)
    normals, offsets = _lower_facets(scaled)
    candidates = (points[found] - low) / np.where(width > 0, width, 1.0)
    found[found] = np.any(candidates @ normals.T + offsets >= -TOLERANCE, axis=1)
    return found


def _lower_facets(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outward normals (f, m), none of their entries above 0, and offsets (f,) of the hull of all that the points dominate."""
    from scipy.spatial import ConvexHull

    # All that the points dominate has no end; its lower side is the same where it is cut off: each point pushed to the far end
    # of each axis. That also gives the body a volume, which the points alone need not have.
    bodies = [points]
    for axis in range(points.shape[1]):
        pushed = points.copy()
        pushed[:, axis] = 2.0
        bodies.append(pushed)
    equations = ConvexHull(np.unique(np.concatenate(bodies), axis=0)).equations
    lower = equations[np.all(equations[:, :-1] <= TOLERANCE, axis=1)]
    return lower[:, :-1], lower[:, -1]
