"""A space seen in another way: the architectures of another, or some of them, with moves of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.rng import Generator
from secateur.spaces.base import Space


class View(Space):
    """Does as the space behind it; subclasses say what they do otherwise."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.name = space.name

    def make(self, choices: Mapping[str, Any]) -> Architecture:
        return self.space.make(choices)

    def contains(self, architecture: Architecture) -> bool:
        return self.space.contains(architecture)

    def sample(self, rng: Generator) -> Architecture:
        return self.space.sample(rng)

    def mutate(self, architecture: Architecture, rng: Generator, probability: float | None = None) -> Architecture:
        return self.space.mutate(architecture, rng, probability)

    def crossover(self, a: Architecture, b: Architecture, rng: Generator) -> Architecture:
        return self.space.crossover(a, b, rng)

    def neighbours(self, architecture: Architecture) -> Iterator[Architecture]:
        return self.space.neighbours(architecture)

    def smallest(self) -> Architecture:
        return self.space.smallest()

    def largest(self) -> Architecture:
        return self.space.largest()

    def start(self, rng: Generator) -> Architecture:
        return self.space.start(rng)

    def encode(self, architecture: Architecture) -> np.ndarray:
        return self.space.encode(architecture)

    def encode_many(self, architectures: Sequence[Architecture]) -> np.ndarray:
        return self.space.encode_many(architectures)

    @property
    def dimensions(self) -> int:
        return self.space.dimensions

    def costs(self, architectures: Sequence[Architecture]) -> np.ndarray | None:
        return self.space.costs(architectures)

    def size(self) -> int:
        return self.space.size()

    def every(self) -> Iterator[Architecture]:
        return self.space.every()
