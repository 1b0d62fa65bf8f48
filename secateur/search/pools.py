"""Where the candidates of a model-based search come from: all of a small space, or draws and children of the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings import Encoding
from secateur.rng import Generator
from secateur.spaces.base import Space

#: Whether an architecture may be proposed.
New = Callable[[Architecture], bool]
#: Scores (k,) of candidates.
Score = Callable[[Sequence[Architecture]], np.ndarray]


class Pool:
    """Every point of a space with at most `enumerable` of them; else `draws` random ones and `children` mutations of the
    parents, `crossed` of them after a crossover, refined around the best by mutations.

    The parents are the front, filled up to `parents` with the best of the rest.
    """

    def __init__(
        self,
        space: Space,
        enumerable: int = 2000,
        draws: int = 750,
        children: int | None = None,
        crossed: float = 0.5,
        parents: int = 1,
        refined: int = 5,
        each: int = 30,
    ) -> None:
        self.space = space
        self.draws, self.children = draws, draws if children is None else children
        self.crossed, self.parents, self.refined, self.each = crossed, parents, refined, each
        #: All candidates, where the space has few enough.
        self.every = _whole(space) if space.size() <= enumerable else None

    def candidates(self, parents: Sequence[Architecture], new: New, rng: Generator) -> list[Architecture]:
        """New architectures, each network once."""
        if self.every is not None:
            return [a for a in self.every if new(a)]

        def child() -> Architecture:
            a, b = parents[int(rng.integers(len(parents)))], parents[int(rng.integers(len(parents)))]
            return self.space.mutate(self.space.crossover(a, b, rng) if rng.random() < self.crossed else a, rng)

        pool = _unique(self.space.sample_many(self.draws, rng), new)
        return pool + _unique((child() for _ in range(self.children)), new, pool)

    def encoded(self, architectures: Sequence[Architecture], encoding: Encoding) -> np.ndarray:
        """The vectors (k, d) of candidates. Those of a whole space are computed once."""
        if self.every is None:
            return encoding.encode(architectures)
        rows, vectors = _encoded_whole(self.space, encoding)
        return np.asarray(vectors[[rows[a.key] for a in architectures]])

    def best(self, pool: list[Architecture], score: Score, new: New, rng: Generator) -> Architecture:
        """The candidate with the highest score, those near the best ones included where the pool is not the whole space."""
        scores = score(pool)
        if self.every is None and self.refined:
            top = [pool[i] for i in np.argsort(-scores, kind="stable")[: self.refined]]
            near = _unique((self.space.mutate(a, rng) for a in top for _ in range(self.each)), new, pool)
            pool = pool + near
            scores = np.concatenate([scores, score(near)])
        return pool[int(np.argmax(scores))]


@lru_cache(maxsize=2)
def _whole(space: Space) -> list[Architecture]:
    """Listed once for all searches of one space: a bench has hundreds."""
    return list(space.every())


@lru_cache(maxsize=4)
def _encoded_whole(space: Space, encoding: Encoding) -> tuple[dict[str, int], np.ndarray]:
    every = _whole(space)
    return {a.key: i for i, a in enumerate(every)}, encoding.encode(every)


def _unique(architectures: Iterable[Architecture], new: New, known: Sequence[Architecture] = ()) -> list[Architecture]:
    """The new ones that are not among the known, each network once."""
    keys = {a.key for a in known}
    found: dict[str, Architecture] = {}
    for architecture in architectures:
        if architecture.key not in keys and new(architecture):
            found.setdefault(architecture.key, architecture)
    return list(found.values())
