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
from secateur.search.base import Searcher
from secateur.spaces.base import Space
from secateur.trial import Trial, level


class MoRea(Searcher):
    """Random until the population is full. Then a random sample of it is drawn, and the member of the sample with the lowest
    rank is mutated in one dimension. The oldest leaves for each complete result that comes in.

    `population_size` and `sample_size` are those of Real et al. (2019) for their larger space; ranks are of the whole
    population, ties are broken at random.
    """

    name = "mo-rea"

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        population_size: int = 100,
        sample_size: int = 10,
        **more: Any,
    ) -> None:
        if not 1 <= sample_size <= population_size:
            raise ConfigurationError(f"`sample_size` must lie in 1…`population_size` ({population_size}), got {sample_size}.")
        super().__init__(space, objectives, *base, **more)
        self.sample_size = sample_size
        self.population: deque[Trial] = deque(maxlen=population_size)

    def _learn(self, trial: Trial) -> None:
        if trial.complete and level(trial.budget) == self._largest:
            if self.population and level(self.population[-1].budget) < self._largest:
                self.population.clear()  # values at a smaller budget do not compare with this one's
            self.population.append(trial)

    def _propose(self, rng: Generator) -> Architecture | None:
        population = list(self.population)
        if len(population) < (self.population.maxlen or 0):
            return self._unseen(lambda: self.space.sample(rng))
        rank = ranks(self.points(population))

        def draw() -> Architecture:
            # A draw without replacement comes in random order, so `min` breaks ties at random.
            sample = rng.choice(len(population), size=self.sample_size, replace=False)
            return self.space.mutate(population[min(sample, key=lambda i: rank[i])].architecture, rng)

        return self._unseen(draw)
