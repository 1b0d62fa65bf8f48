"""The chance of keeping the bounds, from what kept and broke them so far."""

from __future__ import annotations

import numpy as np

#: Results that a candidate's chance is judged by.
NEAREST = 5


def chance(candidates: np.ndarray, feasible: np.ndarray, infeasible: np.ndarray) -> np.ndarray:
    """The share of feasible ones among each candidate's nearest results, never 0: (k,). Arrays are (·, d)."""
    if not len(infeasible):
        return np.ones(len(candidates))
    known = np.concatenate([feasible, infeasible])
    good = np.arange(len(known)) < len(feasible)
    # Squared distances (k, n), without the (k, n, d) array.
    squares = (candidates**2).sum(axis=1)[:, None] + (known**2).sum(axis=1)[None] - 2 * candidates @ known.T
    k = min(NEAREST, len(known))
    nearest = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.asarray((good[nearest].sum(axis=1) + 0.1) / (k + 0.2))
