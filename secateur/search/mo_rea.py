"""MO-REA: multi-objective regularised evolution (Real et al. 2019, with non-dominated sorting as in Klein et al. 2024)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.pareto import ranks
from secateur.rng import Generator
from secateur.search.base import Searcher, fitting
from secateur.search.encoded import Encoded
from secateur.spaces.base import Space
from secateur.trial import Trial, level


class MoRea(Searcher):
    """Random until the population is full. Then a random sample of it is drawn, and the member of the sample with the lowest
    rank is mutated in one dimension. The oldest leaves for each complete result that comes in.

    100 and 10 are the sizes of Real et al. (2019), who tried thousands; Klein et al. (2024) had 10 and 5 for a hundred. Ranks
    are of the whole population, ties are broken at random.
    """

    name = "mo-rea"

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        population: int = 100,
        sample: int = 10,
        **more: Any,
    ) -> None:
        self._check(population, sample)
        super().__init__(space, objectives, *base, **more)
        self.sample = sample
        self.members: deque[Trial] = deque(maxlen=population)

    @staticmethod
    def _check(population: int, sample: int) -> None:
        if not 1 <= sample <= population:
            raise ConfigurationError(f"`sample` must lie in 1…`population` ({population}), got {sample}.")

    @classmethod
    def sizes(cls, trials: int, population: int | None = None, sample: int | None = None) -> dict[str, int]:
        population = fitting(trials, 100) if population is None else population
        sample = min(10, (population + 1) // 2) if sample is None else sample
        cls._check(population, sample)
        return {"population": population, "sample": sample}

    @classmethod
    def encoded(cls, encoding: str) -> Encoded:
        """The same with mutations in an encoding, by name or by the folder of a trained one. Raises UnknownNameError."""
        return Encoded(cls, encoding)

    def _learn(self, trial: Trial) -> None:
        if trial.complete and level(trial.budget) == self._best.largest:
            if self.members and level(self.members[-1].budget) < self._best.largest:
                self.members.clear()  # values at a smaller budget do not compare with this one's
            self.members.append(trial)

    def _propose(self, rng: Generator) -> Architecture | None:
        population = list(self.members)
        if len(population) < (self.members.maxlen or 0):
            return self._unseen(lambda: self.space.sample(rng))
        rank = ranks(self.points(population))

        def draw() -> Architecture:
            # A draw without replacement comes in random order, so `min` breaks ties at random.
            sample = rng.choice(len(population), size=self.sample, replace=False)
            return self.space.mutate(population[min(sample, key=lambda i: rank[i])].architecture, rng)

        return self._unseen(draw)
