"""What every space of architectures can do. Pure functions over values: no space ever builds a network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.rng import Generator


class Space(ABC):
    """A set of architectures with the moves that searchers make in it."""

    name: str

    @abstractmethod
    def make(self, choices: Mapping[str, Any]) -> Architecture:
        """The architecture of these choices. Raises ConfigurationError where they lie outside the space."""

    @abstractmethod
    def contains(self, architecture: Architecture) -> bool:
        """Whether the architecture is a point of this space, with this space's bounds."""

    @abstractmethod
    def sample(self, rng: Generator) -> Architecture:
        """One random architecture."""

    def sample_many(self, n: int, rng: Generator) -> list[Architecture]:
        """`n` random architectures; may repeat."""
        return [self.sample(rng) for _ in range(n)]

    @abstractmethod
    def mutate(self, architecture: Architecture, rng: Generator, probability: float | None = None) -> Architecture:
        """A copy in which one random dimension has a new value; with a probability, each one with it, and at least one."""

    @abstractmethod
    def crossover(self, a: Architecture, b: Architecture, rng: Generator) -> Architecture:
        """A child that takes each dimension from either parent with equal probability."""

    @abstractmethod
    def neighbours(self, architecture: Architecture) -> Iterator[Architecture]:
        """Every architecture that differs in exactly one dimension."""

    @abstractmethod
    def smallest(self) -> Architecture:
        """The lower bound."""

    @abstractmethod
    def largest(self) -> Architecture:
        """The upper bound: for pruning without bounds, the whole network."""

    def start(self, rng: Generator) -> Architecture:
        """Where a search that moves step by step begins: a random architecture, unless the space has a better place."""
        return self.sample(rng)

    @abstractmethod
    def encode(self, architecture: Architecture) -> np.ndarray:
        """The architecture as a point (d,) of the unit cube."""

    def encode_many(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """The architectures as points (n, d) of the unit cube."""
        if not architectures:
            return np.zeros((0, self.dimensions))
        return np.stack([self.encode(a) for a in architectures])

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """How many numbers describe a point: the d of `encode`."""

    def costs(self, architectures: Sequence[Architecture]) -> np.ndarray | None:
        """What architectures cost (n, parts), in a unit of the space's own: of a space of cells, for each of the cells that an
        architecture has. None where the space cannot say."""
        return None

    @abstractmethod
    def size(self) -> int:
        """How many points there are. Points that are the same network (equal keys) count each."""

    def every(self) -> Iterator[Architecture]:
        """Every network once, in a fixed order: of points with equal keys the first. For spaces whose `size` is small."""
        first = self.smallest()
        found, keys = {first}, set()
        waiting = [first]
        while waiting:
            architecture = waiting.pop()
            if architecture.key not in keys:
                keys.add(architecture.key)
                yield architecture
            for neighbour in self.neighbours(architecture):
                if neighbour not in found:
                    found.add(neighbour)
                    waiting.append(neighbour)
