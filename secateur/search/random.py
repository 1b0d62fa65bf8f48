"""Random search (Bergstra & Bengio 2012): the baseline that every other searcher has to beat."""

from __future__ import annotations

from secateur.architecture import Architecture
from secateur.rng import Generator
from secateur.search.base import Searcher


class Random(Searcher):
    """Draws from the space, each architecture at most once."""

    name = "random"

    def _propose(self, rng: Generator) -> Architecture | None:
        return self._unseen(lambda: self.space.sample(rng))
