"""An order of points in which every beginning is spread over all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def spread(points: np.ndarray, first: int = 0) -> Iterator[int]:
    """The places of the points (n, m): each column's best first, then `first`, then always the point farthest from all before.

    Distances are between ranks: every column counts alike, whatever its unit and wherever its values crowd.
    """
    n = len(points)
    if n == 0:
        return
    ranks = np.argsort(np.argsort(points, axis=0, kind="stable"), axis=0, kind="stable") / max(n - 1, 1)
    distance = np.full(n, np.inf)
    starts = [*dict.fromkeys([*np.argmin(points, axis=0).tolist(), first])]
    for turn in range(n):
        place = starts[turn] if turn < len(starts) else int(np.argmax(distance))
        yield place
        np.minimum(distance, ((ranks - ranks[place]) ** 2).sum(axis=1), out=distance)
        distance[place] = -1.0
