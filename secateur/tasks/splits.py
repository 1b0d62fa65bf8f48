"""Seeded splits and samples of rows, stratified by class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.rng import Generator

Rows = NDArray[np.int64]


def take(count: int, size: int, generator: Generator, classes: NDArray[Any] | None = None) -> tuple[Rows, Rows]:
    """`count` of `size` rows at random, and the rest, both in order.

    With `classes` (size,), each class is taken in its share, rounded by largest remainder; one row of each class stays with the
    rest as long as `count` allows it, so that no class is lost to training.
    """
    order = generator.permutation(size)
    if classes is None:
        chosen = order[:count]
    else:
        quotas = _quotas(count, np.unique(classes, return_counts=True)[1])
        inverse = np.unique(classes, return_inverse=True)[1][order]
        chosen = np.concatenate([order[inverse == index][:quota] for index, quota in enumerate(quotas)])
    kept = np.zeros(size, dtype=bool)
    kept[chosen] = True
    return np.flatnonzero(kept), np.flatnonzero(~kept)


def _quotas(count: int, sizes: NDArray[Any]) -> NDArray[np.int64]:
    """How many to take of each class, `count` in all."""
    ideal = count * sizes / sizes.sum()
    quotas: NDArray[np.int64] = np.floor(ideal).astype(np.int64)
    # First the largest remainders among the classes that keep a row; then, if that is not enough, among all that have one left.
    for limit in (sizes - 1, sizes):
        while quotas.sum() < count and (quotas < limit).any():
            quotas[np.argmax(np.where(quotas < limit, ideal - quotas, -np.inf))] += 1
    return quotas


def held_out(share: float, size: int) -> int:
    """The number of rows in a `share` of `size`: at least one, and at least one is left."""
    return min(max(round(share * size), 1), size - 1)
