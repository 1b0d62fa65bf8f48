"""BOHB (Falkner et al. 2018): the brackets of Hyperband, filled by densities of good and bad results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.objectives import Objective
from secateur.rng import Generator
from secateur.search.best_first import best_first
from secateur.search.hyperband import Hyperband
from secateur.spaces.base import Space
from secateur.trial import Trial, level

#: A dimension that differs lowers a kernel no further than to this: no single one decides.
FLOOR = 0.05
#: No kernel is narrower than this, in the unit cube.
NARROWEST = 0.1


class Bohb(Hyperband):
    """A third of the draws are random. For the others, results at the largest budget that has enough of them are split into the
    best (a share of `good`) and the rest. Of `candidates` mutations of the best, that one is taken whose density among the best
    is highest against that among the rest. In cell spaces, densities are over the bits of the adjacency encoding.
    """

    name = "bohb"

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        good: float = 0.15,
        candidates: int = 64,
        at_random: float = 1 / 3,
        **more: Any,
    ) -> None:
        super().__init__(space, objectives, *base, **more)
        self.good, self.candidates, self.at_random = good, candidates, at_random
        adjacency = find("encoding", "adjacency")
        self.encoding = find("encoding", "vector")(space) if adjacency.refuses(space) else adjacency(space)
        self.least_results = space.dimensions + 1

    def _propose(self, rng: Generator) -> Architecture | None:
        observed = self._observed()
        if rng.random() < self.at_random or not observed:
            return super()._propose(rng)
        order = best_first(self.points(observed))
        number = max(self.least_results, round(self.good * len(observed)))
        best = [observed[i].architecture for i in order[:number]]
        rest = [observed[i].architecture for i in order[number:]]
        drawn = (self.space.mutate(best[int(rng.integers(len(best)))], rng) for _ in range(self.candidates))
        new = [a for a in drawn if self._is_new(a)]
        if not new:
            return super()._propose(rng)
        vectors = self.encoding.encode(new)
        ratio = log_density(vectors, self.encoding.encode(best)) - log_density(vectors, self.encoding.encode(rest))
        return new[int(np.argmax(ratio))]

    def _observed(self) -> list[Trial]:
        """The complete results at the largest budget that has enough to be split; none where no budget has."""
        complete = [t for t in self.history if t.complete]
        for budget in sorted({level(t.budget) for t in complete}, reverse=True):
            found = [t for t in complete if level(t.budget) == budget]
            if len(found) >= 2 * self.least_results:
                return found
        return []


def log_density(vectors: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The logarithm (k,) of a kernel density at vectors (k, d), around centres (n, d): up to a constant.

    Kernels are products over dimensions, as wide as the normal reference rule says of each.
    """
    from scipy.special import logsumexp

    n, d = centres.shape
    width = np.maximum(1.06 * centres.std(axis=0) * n ** (-1 / (4 + d)), NARROWEST)
    apart = ((vectors[:, None] - centres[None]) / width) ** 2
    kernels = np.log((1 - FLOOR) * np.exp(-apart / 2) + FLOOR).sum(axis=2)
    return np.asarray(logsumexp(kernels, axis=1) - np.log(n))
