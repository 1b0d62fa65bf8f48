"""Where the candidates of a model-based search come from: all of a small space, or draws and children of the front."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.rng import Generator
from secateur.spaces.base import Space

#: Whether an architecture may be proposed.
New = Callable[[Architecture], bool]
#: Scores (k,) of candidates.
Score = Callable[[Sequence[Architecture]], np.ndarray]


class Pool:
    """Every point of a space with at most `enumerable` of them; else `draws` random ones and as many mutations and crossovers
    of the front, refined around the best by mutations."""

    def __init__(self, space: Space, enumerable: int = 2000, draws: int = 750, refined: int = 5, each: int = 30) -> None:
        self.space = space
        self.draws, self.refined, self.each = draws, refined, each
        self._every = list(space.every()) if space.size() <= enumerable else None

    def candidates(self, front: Sequence[Architecture], new: New, rng: Generator) -> list[Architecture]:
        """New architectures, each network once."""
        if self._every is not None:
            return _unique(self._every, new)

        def of_front() -> Architecture:
            a, b = front[int(rng.integers(len(front)))], front[int(rng.integers(len(front)))]
            return self.space.mutate(self.space.crossover(a, b, rng) if rng.random() < 0.5 else a, rng)

        pool = _unique(self.space.sample_many(self.draws, rng), new)
        return pool + _unique((of_front() for _ in range(self.draws)), new, pool)

    def best(self, pool: list[Architecture], score: Score, new: New, rng: Generator) -> Architecture:
        """The candidate with the highest score, those near the best ones included where the pool is not the whole space."""
        scores = score(pool)
        if self._every is None:
            top = [pool[i] for i in np.argsort(-scores, kind="stable")[: self.refined]]
            near = _unique((self.space.mutate(a, rng) for a in top for _ in range(self.each)), new, pool)
            pool = pool + near
            scores = np.concatenate([scores, score(near)])
        return pool[int(np.argmax(scores))]


def _unique(architectures: Iterable[Architecture], new: New, known: Sequence[Architecture] = ()) -> list[Architecture]:
    """The new ones that are not among the known, each network once."""
    keys = {a.key for a in known}
    found: dict[str, Architecture] = {}
    for architecture in architectures:
        if architecture.key not in keys and new(architecture):
            found.setdefault(architecture.key, architecture)
    return list(found.values())
