"""A space whose points are vectors of whole numbers, each from a range of its own."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces.base import Space
from secateur.spaces.domains import Range


class ProductSpace(Space):
    """Subclasses say what a vector means (`from_values`, `values`); the moves are written here, once."""

    def __init__(self, domains: Sequence[Range]) -> None:
        self.domains = tuple(domains)
        self._low = np.array([d.low for d in self.domains], dtype=np.int64)
        self._step = np.array([d.step for d in self.domains], dtype=np.int64)
        self._count = np.array([len(d) for d in self.domains], dtype=np.int64)
        self._free = np.flatnonzero(self._count > 1)

    @abstractmethod
    def from_values(self, values: np.ndarray) -> Architecture:
        """The architecture of a vector (d,) that lies in the domains."""

    @abstractmethod
    def values(self, architecture: Architecture) -> np.ndarray:
        """The vector (d,) of an architecture of this space."""

    def sample_values(self, n: int, rng: Generator) -> np.ndarray:
        """`n` random vectors (n, d): each dimension uniform over its range."""
        return self._low + self._step * rng.integers(0, self._count, size=(n, len(self.domains)))

    def contains_values(self, values: np.ndarray) -> bool:
        if values.shape != self._low.shape:
            return False
        offset = values - self._low
        return bool(np.all((offset >= 0) & (offset % self._step == 0) & (offset // self._step < self._count)))

    @property
    def counts(self) -> list[int]:
        """How many values each dimension has."""
        return [int(count) for count in self._count]

    def indices(self, architecture: Architecture) -> np.ndarray:
        """The position (d,) of each dimension's value in its range, from 0."""
        return np.asarray((self.values(architecture) - self._low) // self._step)

    def choices_read(self) -> list[tuple[int, tuple[int, ...]]]:
        """The dimensions in the order in which a reader would name them, each with its values."""
        return [(d, domain.members()) for d, domain in enumerate(self.domains)]

    def active(self, architecture: Architecture) -> np.ndarray:
        """Which dimensions (d,) have an effect on the architecture."""
        return np.ones(len(self.domains), dtype=bool)

    def from_indices(self, indices: np.ndarray) -> Architecture:
        """The architecture of positions (d,) in the ranges."""
        return self.from_values(self._low + self._step * np.asarray(indices, dtype=np.int64))

    def contains(self, architecture: Architecture) -> bool:
        if architecture.space != self.name:
            return False
        try:
            values = self.values(architecture)
            # The last comparison: another spelling of the same choices, or a key that is not theirs, is no point of the space.
            return self.contains_values(values) and self.from_values(values) == architecture
        except (KeyError, TypeError, ValueError, ConfigurationError):
            return False

    def sample(self, rng: Generator) -> Architecture:
        return self.from_values(self.sample_values(1, rng)[0])

    def sample_many(self, n: int, rng: Generator) -> list[Architecture]:
        return [self.from_values(v) for v in self.sample_values(n, rng)]

    def mutate(self, architecture: Architecture, rng: Generator, probability: float | None = None) -> Architecture:
        if len(self._free) == 0:
            return architecture
        values = self.values(architecture)
        d = chosen(self._free, rng, probability)
        old = (values[d] - self._low[d]) // self._step[d]
        new = rng.integers(0, self._count[d] - 1)
        values[d] = self._low[d] + self._step[d] * (new + (new >= old))
        return self.from_values(values)

    def crossover(self, a: Architecture, b: Architecture, rng: Generator) -> Architecture:
        take = rng.random(len(self.domains)) < 0.5
        return self.from_values(np.where(take, self.values(a), self.values(b)))

    def neighbours(self, architecture: Architecture) -> Iterator[Architecture]:
        values = self.values(architecture)
        for d in self._free:
            for i in range(self._count[d]):
                new = self._low[d] + self._step[d] * i
                if new != values[d]:
                    changed = values.copy()
                    changed[d] = new
                    yield self.from_values(changed)

    def smallest(self) -> Architecture:
        return self.from_values(self._low.copy())

    def largest(self) -> Architecture:
        return self.from_values(self._low + self._step * (self._count - 1))

    def encode(self, architecture: Architecture) -> np.ndarray:
        return self._encoded(self.values(architecture))

    def encode_many(self, architectures: Sequence[Architecture]) -> np.ndarray:
        if not architectures:
            return np.zeros((0, self.dimensions))
        return self._encoded(np.stack([self.values(a) for a in architectures]))

    def _encoded(self, values: np.ndarray) -> np.ndarray:
        return np.asarray((values - self._low) / np.maximum(self._step * (self._count - 1), 1))

    @property
    def dimensions(self) -> int:
        return len(self.domains)

    def size(self) -> int:
        return math.prod(len(d) for d in self.domains)

    def every(self) -> Iterator[Architecture]:
        keys = set()
        for values in itertools.product(*(range(d.low, d.high + 1, d.step) for d in self.domains)):
            architecture = self.from_values(np.array(values, dtype=np.int64))
            if architecture.key not in keys:
                keys.add(architecture.key)
                yield architecture


def chosen(among: np.ndarray, rng: Generator, probability: float | None) -> np.ndarray:
    """Which of the dimensions (k,) change: one of them at random, or each with a probability and at least one."""
    if probability is not None:
        if not 0 < probability <= 1:
            raise ConfigurationError(f"`probability` must be above 0 and at most 1, got {probability}.")
        found = among[rng.random(len(among)) < probability]
        if len(found):
            return np.asarray(found)
    return np.asarray([rng.choice(among)])
