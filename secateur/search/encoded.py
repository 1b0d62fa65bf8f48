"""Searchers whose steps or draws are made in an encoding: the same classes on another view of the space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from secateur.catalogue import check_encoding, find_encoding
from secateur.encodings.named import encoding_of
from secateur.encodings.nearby import Nearby
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.search.base import Searcher
from secateur.spaces.base import Space


@dataclass(frozen=True)
class Encoded:
    """A searcher on `Nearby`: its steps are made in an encoding, and where `draws` its random draws are. Stands where others
    have a class."""

    kind: type[Searcher]
    encoding: str
    draws: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind.name}:{self.encoding}"

    def __post_init__(self) -> None:
        check_encoding(self.encoding)

    def refuses(self, space: Space, objectives: Sequence[Objective]) -> str | None:
        """Why it cannot serve the space and objectives, or None where it can."""
        reason: str | None = find_encoding(self.encoding).refuses(space)
        if reason:
            return f"`{self.name}` cannot search `{space.name}`: {reason}"
        return self.kind.refuses(self._view(space), objectives)

    def sizes(self, trials: int, population: int | None = None, sample: int | None = None) -> dict[str, int]:
        """Those of the searcher. Raises ConfigurationError for one that it does not have."""
        return self.kind.sizes(trials, population, sample)

    def __call__(self, space: Space, objectives: Sequence[Objective], *base: Any, **more: Any) -> Searcher:
        """A new searcher. Raises ConfigurationError where it cannot serve the space."""
        reason = self.refuses(space, objectives) if objectives else f"`{self.name}` needs at least one objective, got none."
        if reason:
            raise ConfigurationError(reason)
        searcher = self.kind(self._view(space), objectives, *base, **more)
        searcher.name = self.name
        return searcher

    def _view(self, space: Space) -> Nearby:
        return Nearby(space, encoding_of(space, self.encoding), draws=self.draws)
