"""Random search (Bergstra & Bengio 2012): the baseline that every other searcher has to beat."""

from __future__ import annotations

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.search.base import Searcher
from secateur.search.encoded import Encoded


class Random(Searcher):
    """Draws from the space, each architecture at most once."""

    name = "random"

    @classmethod
    def encoded(cls, encoding: str) -> Encoded:
        """The same with draws in an encoding, by name or by the folder of a trained one. Raises UnknownNameError."""
        if cls is not Random:
            raise ConfigurationError(f"`{cls.name}:{encoding}` names an encoding, and `{cls.name}` has no use for one.")
        return Encoded(cls, encoding, draws=True)

    def _propose(self, rng: Generator) -> Architecture | None:
        return self._unseen(lambda: self.space.sample(rng))
