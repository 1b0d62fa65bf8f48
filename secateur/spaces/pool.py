"""Some architectures of a space as a space of their own: what a table holds of one that is too large to hold all of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces.base import Space
from secateur.spaces.view import View


class Pool(View):
    """The members of a list. A step leads where the space's own step would, or as near to it as a member lies."""

    def __init__(self, space: Space, members: Sequence[Architecture]) -> None:
        super().__init__(space)
        self._members = {a.key: a for a in members}
        if not self._members:
            raise ConfigurationError("a pool needs at least one architecture.")
        self._listed = list(self._members.values())
        self._places = {key: place for place, key in enumerate(self._members)}
        self._points = space.encode_many(self._listed)

    def make(self, choices: Mapping[str, Any]) -> Architecture:
        made = self.space.make(choices)
        if not self.contains(made):
            raise ConfigurationError(f"`{dict(choices)}` is not in the list of architectures.")
        return made

    def contains(self, architecture: Architecture) -> bool:
        return self._members.get(architecture.key) == architecture

    def sample(self, rng: Generator) -> Architecture:
        return self._listed[int(rng.integers(len(self._listed)))]

    def mutate(self, architecture: Architecture, rng: Generator, probability: float | None = None) -> Architecture:
        """Another member, the likelier the nearer it is to a mutation of the space: the r-th nearest by 1/r."""
        others = self._nearest(self.space.mutate(architecture, rng, probability), besides=architecture)
        if not len(others):
            return architecture
        weights = 1 / np.arange(1, len(others) + 1)
        return self._listed[int(rng.choice(others, p=weights / weights.sum()))]

    def crossover(self, a: Architecture, b: Architecture, rng: Generator) -> Architecture:
        return self._listed[int(self._nearest(self.space.crossover(a, b, rng))[0])]

    def neighbours(self, architecture: Architecture) -> Iterator[Architecture]:
        """Every other member, the nearest first."""
        return (self._listed[place] for place in self._nearest(architecture, besides=architecture))

    def smallest(self) -> Architecture:
        return self._listed[int(np.argmin(self._points.sum(axis=1)))]

    def largest(self) -> Architecture:
        return self._listed[int(np.argmax(self._points.sum(axis=1)))]

    def start(self, rng: Generator) -> Architecture:
        return self._listed[int(self._nearest(self.space.start(rng))[0])]

    def size(self) -> int:
        return len(self._listed)

    def every(self) -> Iterator[Architecture]:
        return iter(self._listed)

    def _nearest(self, architecture: Architecture, besides: Architecture | None = None) -> np.ndarray:
        """The places of the members by their distance (L1) from an architecture of the space."""
        distance = np.abs(self._points - self.space.encode(architecture)).sum(axis=1)
        found = np.argsort(distance, kind="stable")
        return found if besides is None or not self.contains(besides) else found[found != self._places[besides.key]]


def whole(space: Space) -> Space:
    """The space that a pool was taken from, or that is seen through a view; any other is its own."""
    return whole(space.space) if isinstance(space, View) else space
