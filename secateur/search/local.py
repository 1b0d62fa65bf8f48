"""Multi-objective local search (Klein et al. 2024, algorithm 5), and with draws from all sizes first."""

from __future__ import annotations

from collections.abc import Sequence

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.rng import Generator, generator
from secateur.search.base import Searcher
from secateur.spaces.base import Space


class LocalSearch(Searcher):
    """Begins where the space says; then a random element of the front gets a new value in one random dimension.

    With a `population` of more than one, the start is followed by draws that are spread over the sizes of the space.
    """

    name = "local"

    def __init__(
        self, space: Space, objectives: Sequence[Objective], seed: int = 0, take_extra: bool = True, population: int = 1
    ) -> None:
        super().__init__(space, objectives, seed, take_extra)
        if population < 1:
            raise ConfigurationError(f"`population` must be at least 1, got {population}.")
        self.population = population

    @classmethod
    def sizes(cls, trials: int, population: int | None = None, sample: int | None = None) -> dict[str, int]:
        super().sizes(trials, sample=sample)
        return {"population": 1 if population is None else population}

    def _propose(self, rng: Generator) -> Architecture | None:
        start = self.space.start(generator(self.seed, "start"))
        if self._is_new(start):
            return start
        if self.asked < self.population:
            drawn = self._unseen(lambda: self.space.spread(rng))
            if drawn is not None:
                return drawn
        front = [t.architecture for t in self._front]
        if not front:
            # The start is still running: its neighbours come next. It broke a bound or failed: nothing is known to start from.
            running = any(t.key == start.key for t in self.pending.values())
            front = [start] if running else self.space.sample_many(1, rng)
        return self._unseen(lambda: self.space.mutate(front[int(rng.integers(len(front)))], rng))
