"""A space whose steps and draws are made in an encoding (White et al. 2020; Yan 2022, chapter 4: `perturb` and `sample`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from secateur.architecture import Architecture
from secateur.encodings.base import Encoding
from secateur.encodings.surroundings import Surroundings, surroundings
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces.base import Space
from secateur.spaces.view import View

#: An edit leads to 24 others in NAS-Bench-201 and on average to 22 in NAS-Bench-101: a step here has about as many ends.
NEAR = 30


class Nearby(View):
    """The same architectures. A mutation leads to one of the `near` other vectors that are nearest in the encoding (L2, ties
    are broken at random), and there to any architecture; neighbours are all that it may lead to, the nearest first. With
    `draws`, a random architecture is the one nearest to a random point: uniform in the box that the encoding fills, of bits
    where it has nothing else. Without, draws are the space's own, as starts and children are.

    Vectors are compared with those of all architectures of a space of up to 500,000; in a larger one with those of draws and of
    the space's own mutations (`Explored`).
    """

    def __init__(self, space: Space, encoding: Encoding, near: int = NEAR, draws: bool = True) -> None:
        if near < 1:
            raise ConfigurationError(f"`near` must be at least 1, got {near}.")
        super().__init__(space)
        self.encoding, self.near, self.draws = encoding, near, draws

    @cached_property
    def surroundings(self) -> Surroundings:
        return surroundings(self.space, self.encoding)

    def sample(self, rng: Generator) -> Architecture:
        if not self.draws:
            return self.space.sample(rng)
        return next(self.surroundings.nearest(self.surroundings.drawn(rng), rng))

    def mutate(self, architecture: Architecture, rng: Generator, probability: float | None = None) -> Architecture:
        """A probability is of the space's own dimensions: with one, the space's own mutation."""
        if probability is not None:
            return self.space.mutate(architecture, rng, probability)
        return self.surroundings.step(architecture, self.near, rng)

    def neighbours(self, architecture: Architecture) -> Iterator[Architecture]:
        return self.surroundings.within(architecture, self.near)
