"""How an embedding's distances agree with what was changed: walks through neighbours, and pairs of a random walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.report.encoding_data import Box, Nearness
from secateur.rng import Generator
from secateur.spaces.base import Space
from secateur.spaces.cells import CellSpace
from secateur.spaces.product import ProductSpace

Distance = Callable[[Architecture, Architecture], int]
#: Pairs of a random walk that are so few steps apart are all looked at: near ones are rare among random pairs.
CLOSE = 5
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def distance_of(space: Space) -> Distance | None:
    """The edit distance of a space: its own where it has cells, how many choices differ where there is a row of these."""
    if isinstance(space, CellSpace):
        return space.distance
    if isinstance(space, ProductSpace):
        indices = space.indices
        return lambda a, b: int((indices(a) != indices(b)).sum())
    return None


def nearest_walk(vectors: np.ndarray, start: int, steps: int) -> list[int]:
    """The places of vectors (n, d) from `start` on, each the nearest (L2) to the one before that was not visited yet; all where
    there are fewer than the steps ask for (Yan 2022, figure 3.5)."""
    free = np.ones(len(vectors), dtype=bool)
    found = [start]
    for _ in range(min(steps, len(vectors) - 1)):
        free[found[-1]] = False
        apart = ((vectors - vectors[found[-1]]) ** 2).sum(axis=1)
        found.append(int(np.where(free, apart, np.inf).argmin()))
    return found


def random_pairs(n: int, pairs: int, rng: Generator) -> np.ndarray:
    """Pairs (pairs, 2) of different numbers below n, which is at least 2; may repeat."""
    first = rng.integers(n, size=pairs)
    return np.stack([first, (first + rng.integers(1, n, size=pairs)) % n], axis=1)


def mutation_walk(space: Space, steps: int, rng: Generator) -> list[Architecture]:
    """A random architecture, and what so many mutations make of it, one after the other."""
    found = [space.sample(rng)]
    for _ in range(steps):
        found.append(space.mutate(found[-1], rng))
    return found


def edits_of(distance: Distance, architectures: Sequence[Architecture], pairs: np.ndarray) -> np.ndarray:
    """The edit distances (p,) of pairs (p, 2) of places."""
    return np.array([distance(architectures[a], architectures[b]) for a, b in pairs.tolist()], dtype=np.int64)


def nearness(
    distance: Distance, walk: Sequence[Architecture], vectors: np.ndarray, pairs: int, rng: Generator
) -> Nearness | None:
    """Latent distances of pairs of a walk, whose embeddings are vectors (n, d), by their edit distances (Yan 2022, figure 3.3).

    The pairs are as many random ones as asked for, and all that are at most `CLOSE` steps apart. None where all are the same
    architecture.
    """
    close = [(a, b) for a in range(len(walk)) for b in range(a + 1, min(a + 1 + CLOSE, len(walk)))]
    chosen = np.concatenate([random_pairs(len(walk), pairs, rng), np.array(close, dtype=np.int64)])
    edits = edits_of(distance, walk, chosen)
    apart = np.linalg.norm(vectors[chosen[:, 0]] - vectors[chosen[:, 1]], axis=1)
    boxes = [box(edited, apart[edits == edited]) for edited in np.unique(edits[edits > 0]).tolist()]
    return Nearness(len(walk) - 1, pairs, spearman(edits[:pairs], apart[:pairs]), boxes) if boxes else None


def box(edits: int, apart: np.ndarray) -> Box:
    return Box(edits, len(apart), *np.quantile(apart, QUANTILES).tolist())


def spearman(a: np.ndarray, b: np.ndarray) -> float | None:
    """Spearman's rank correlation of numbers (n,); None where either is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)
