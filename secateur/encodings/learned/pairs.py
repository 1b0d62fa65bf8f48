"""Pairs of architectures that cost about the same, which CATE is trained on (Yan 2022, section 4.3)."""

from __future__ import annotations

import numpy as np

from secateur.rng import Generator


def like_pairs(costs: np.ndarray, delta: float, each: int, rng: Generator) -> np.ndarray:
    """Pairs (m, 2) of places in `costs` (n,): each place with `each` different others whose costs differ by less than `delta`,
    drawn uniformly, or with all such where there are fewer.

    What is sorted by cost has its others in one window, so that this takes n log n steps.
    """
    delta = max(delta, 2 * float(np.spacing(np.abs(costs).max(initial=0.0))))  # a window always has its own place
    order = np.argsort(costs, kind="stable")
    ascending = costs[order]
    low = np.searchsorted(ascending, ascending - delta, side="right")
    others = np.searchsorted(ascending, ascending + delta, side="left") - low - 1  # itself is in its window
    wanted = np.minimum(each, others)
    own = np.arange(len(costs))
    chosen = np.full((len(costs), each), -1)
    for column in range(each):  # Floyd's sampling without replacement, for all at once
        rows = np.flatnonzero(wanted > column)
        last = others[rows] - wanted[rows] + column
        drawn = rng.integers(0, last + 1)
        taken = (chosen[rows, :column] == drawn[:, None]).any(axis=1)
        chosen[rows, column] = np.where(taken, last, drawn)
    rows, columns = np.nonzero(chosen >= 0)
    place = low[rows] + chosen[rows, columns]
    place += place >= own[rows]
    return np.stack([order[rows], order[place]], axis=1)
