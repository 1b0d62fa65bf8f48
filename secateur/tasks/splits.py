"""Seeded splits and samples of rows, stratified by class."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ConfigurationError, DataError
from secateur.rng import Generator, generator
from secateur.tasks.examples import SPLITS

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


def check_shares(validation: float, test: float, limits: Mapping[str, int | None], faults: Sequence[str] = ()) -> None:
    """Raises ConfigurationError with `faults` and those of the shares that are held out and of the limits by split."""
    shares = {"validation_share": validation, "test_share": test}
    found = [*faults, *(f"`{name}` must lie between 0 and 1, got {s:g}." for name, s in shares.items() if not 0 < s < 1)]
    found += [f"`max_{name}` must be at least 1, got {n}." for name, n in limits.items() if n is not None and n < 1]
    if found:
        raise ConfigurationError(found)


def divide(
    given: Collection[str],
    size: int,
    classes: NDArray[Any] | None,
    seed: int,
    shares: Mapping[str, float],
    where: str,
    what: str = "rows",
) -> dict[str, Rows]:
    """The rows of the training data that each role gets; roles in `given` have data of their own. The test share is held out
    first. Raises DataError, which names the data (`where`) and `what` it has, where there are too few."""
    parts: dict[str, Rows] = {}
    rows: Rows = np.arange(size)
    for role, share in shares.items():
        if role in given:
            continue
        stratum = classes[rows] if classes is not None else None
        out, rest = take(held_out(share, len(rows)), len(rows), generator(seed, "tasks", role), stratum)
        parts[role], rows = rows[out], rows[rest]
    parts["train"] = rows
    if min(map(len, parts.values())) < 2:  # one example tells nothing: whatever is scored on it is right or wrong
        raise DataError(f"`{where}` has {size} {what}: too few to split into {_and(parts)}. At least ten are needed.")
    return parts


def _and(names: Iterable[str]) -> str:
    *most, last = sorted(names, key=SPLITS.index)
    return f"{', '.join(most)} and {last}" if most else last


def sample(rows: Rows, classes: NDArray[Any] | None, limit: int | None, seed: int, role: str) -> Rows:
    """`limit` of the rows at random, or all where there is no limit or too few; `classes` are of all the data."""
    if limit is None or limit >= len(rows):
        return rows
    stratum = classes[rows] if classes is not None else None
    return rows[take(limit, len(rows), generator(seed, "tasks", "sample", role), stratum)[0]]
