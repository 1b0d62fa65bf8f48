"""Multi-objective local search (Klein et al. 2024, algorithm 5)."""

from __future__ import annotations

from secateur.architecture import Architecture
from secateur.rng import Generator
from secateur.search.base import Searcher


class LocalSearch(Searcher):
    """Starts at the upper bound; then a random element of the front gets a new value in one random dimension."""

    name = "local"

    def _propose(self, rng: Generator) -> Architecture | None:
        start = self.space.largest()
        if start.key not in self.seen:
            return start
        front = [r.architecture for r in self._front]
        if not front:
            # The start is still running: its neighbours come next. It broke a bound or failed: nothing is known to start from.
            running = any(a.key == start.key for a in self.pending.values())
            front = [start] if running else self.space.sample_many(1, rng)
        return self._unseen(lambda: self.space.mutate(front[int(rng.integers(len(front)))], rng))
