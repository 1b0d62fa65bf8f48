"""Multi-objective local search (Klein et al. 2024, algorithm 5)."""

from __future__ import annotations

from secateur.architecture import Architecture
from secateur.rng import Generator, generator
from secateur.search.base import Searcher


class LocalSearch(Searcher):
    """Begins where the space says; then a random element of the front gets a new value in one random dimension."""

    name = "local"

    def _propose(self, rng: Generator) -> Architecture | None:
        start = self.space.start(generator(self.seed, "start"))
        if self._is_new(start):
            return start
        front = [t.architecture for t in self._front]
        if not front:
            # The start is still running: its neighbours come next. It broke a bound or failed: nothing is known to start from.
            running = any(t.key == start.key for t in self.pending.values())
            front = [start] if running else self.space.sample_many(1, rng)
        return self._unseen(lambda: self.space.mutate(front[int(rng.integers(len(front)))], rng))
