"""Which architectures of a space lie near a point of an encoding, or near another architecture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings.base import Encoding
from secateur.encodings.distances import distances
from secateur.rng import Generator, generator
from secateur.spaces.base import Space
from secateur.spaces.cells.every_cell import listed

#: A space of at most so many points is listed whole: NAS-Bench-101 has 423,624.
MOST = 500_000


class Surroundings(ABC):
    """Distances are L2 in the encoding, ties are broken at random."""

    def __init__(self, space: Space, encoding: Encoding) -> None:
        self.space, self.encoding = space, encoding

    @abstractmethod
    def nearest(self, point: np.ndarray, rng: Generator) -> Iterator[Architecture]:
        """Architectures by their distance from a point (d,), the nearest first."""

    @abstractmethod
    def around(self, architecture: Architecture, rng: Generator) -> Iterator[Architecture]:
        """Other architectures by their distance from one, the nearest first."""

    @abstractmethod
    def step(self, architecture: Architecture, near: int, rng: Generator) -> Architecture:
        """To one of the `near` nearest other vectors, each with the same chance; itself where there is no other."""

    @abstractmethod
    def within(self, architecture: Architecture, near: int) -> Iterator[Architecture]:
        """What steps lead to, the nearest first."""

    @abstractmethod
    def drawn(self, rng: Generator) -> np.ndarray:
        """A point (d,), uniform in the box that the vectors fill; of bits where all vectors are."""


class Listed(Surroundings):
    """Of all architectures of a space, whose vectors are kept. Those with equal vectors are at one place: a step leads to
    another place, and there to any of them."""

    def __init__(self, space: Space, encoding: Encoding) -> None:
        super().__init__(space, encoding)
        self._every = listed(space)
        self._distances = distances(self._every, encoding)
        place = self._distances.place
        #: The architectures by their places, and where those of each place begin.
        self._members = np.argsort(place, kind="stable")
        self._begin = np.concatenate([[0], np.cumsum(np.bincount(place))])
        self._near = lru_cache(maxsize=256)(self._nearest)  # a search steps from the same few again and again

    def nearest(self, point: np.ndarray, rng: Generator) -> Iterator[Architecture]:
        return self._at(self._ordered(self._distances.of(point), rng), rng)

    def around(self, architecture: Architecture, rng: Generator) -> Iterator[Architecture]:
        return self._at(self._ordered(self._others(architecture), rng), rng)

    def step(self, architecture: Architecture, near: int, rng: Generator) -> Architecture:
        closer, tied = self._near(architecture, near)
        if not len(tied):
            return architecture
        # Which of the tied are among the nearest is left to chance, so each step leads to each of them with the same one.
        chosen = int(rng.integers(min(near, len(closer) + len(tied))))
        place = closer[chosen] if chosen < len(closer) else tied[rng.integers(len(tied))]
        return self._every[int(self._members[rng.integers(self._begin[place], self._begin[place + 1])])]

    def within(self, architecture: Architecture, near: int) -> Iterator[Architecture]:
        return self._at(int(place) for part in self._near(architecture, near) for place in part)

    def drawn(self, rng: Generator) -> np.ndarray:
        return self._distances.drawn(rng)

    def _at(self, places: Iterable[int], rng: Generator | None = None) -> Iterator[Architecture]:
        """The architectures of places; those of one place in random order."""
        for place in places:
            here = self._members[self._begin[place] : self._begin[place + 1]]
            yield from (self._every[int(row)] for row in (here if rng is None else rng.permutation(here)))

    def _others(self, architecture: Architecture) -> np.ndarray:
        """The distances (p,) of places from an architecture, that of its own infinite."""
        found = self._distances.of(self.encoding.encode([architecture])[0])
        found[found <= self._distances.rounding] = np.inf
        return found

    def _nearest(self, architecture: Architecture, near: int) -> tuple[np.ndarray, np.ndarray]:
        """The places nearer than the last of the `near` nearest, in order, and those as near as it."""
        found = self._others(architecture)
        last = min(near, int(np.isfinite(found).sum())) - 1
        if last < 0:
            return np.zeros(0, dtype=int), np.zeros(0, dtype=int)
        gap = found - np.partition(found, last)[last]
        closer = np.flatnonzero(gap < -self._distances.rounding)
        return closer[np.argsort(gap[closer], kind="stable")], np.flatnonzero(np.abs(gap) <= self._distances.rounding)

    def _ordered(self, found: np.ndarray, rng: Generator) -> Iterator[int]:
        """Places by distances (p,), finite ones only: the order of a few dozen is found first, and of more where asked for."""
        after, count, rounding = -np.inf, 64, self._distances.rounding
        while True:
            last = np.partition(found, count - 1)[count - 1] if count <= len(found) else np.inf
            part = np.flatnonzero((found > after) & (found <= last + rounding) & np.isfinite(found))
            # Equal ones, which rounding may tell apart, come in random order.
            yield from part[np.lexsort((rng.random(len(part)), np.round(found[part] / rounding)))].tolist()
            if not np.isfinite(last):
                return
            after, count = last + rounding, 8 * count


class Explored(Surroundings):
    """Of a space that is too large to be listed: of draws and of steps that the space itself makes."""

    #: Draws that a search for the nearest to a point begins with, and that tell where vectors lie.
    draws = 200
    #: What is looked at around an architecture: so many are one, two or three mutations away, a third each.
    steps = 150
    #: So often the nearest is mutated to come nearer.
    descents = 10
    #: Of the space's own neighbours, at most so many are put in order.
    most_listed = 2000

    def __init__(self, space: Space, encoding: Encoding) -> None:
        super().__init__(space, encoding)
        self._distances = distances(space.sample_many(5 * self.draws, generator(0, "surroundings")), encoding)

    def nearest(self, point: np.ndarray, rng: Generator) -> Iterator[Architecture]:
        """Begins with random draws; then mutations of the nearest join as long as one of them is nearer."""
        found = self._by_distance(self.space.sample_many(self.draws, rng), point, rng)
        for _ in range(self.descents):
            near = self._by_distance([self.space.mutate(found[0], rng) for _ in range(self.steps // 5)], point, rng)
            best = found[0]
            found = self._by_distance([*near, *found], point, rng)
            if found[0] == best:
                break
        return iter(found)

    def around(self, architecture: Architecture, rng: Generator) -> Iterator[Architecture]:
        reached = []
        for number in range(self.steps):
            other = architecture
            for _ in range(1 + number % 3):
                other = self.space.mutate(other, rng)
            reached.append(other)
        point = self.encoding.encode([architecture])[0]
        return iter(self._by_distance((a for a in reached if a.key != architecture.key), point, rng))

    def step(self, architecture: Architecture, near: int, rng: Generator) -> Architecture:
        found = list(islice(self.around(architecture, rng), near))
        return found[int(rng.integers(len(found)))] if found else architecture

    def within(self, architecture: Architecture, near: int) -> Iterator[Architecture]:
        """The nearest of the space's own neighbours: steps lead there, and further."""
        own = islice(self.space.neighbours(architecture), self.most_listed)
        point = self.encoding.encode([architecture])[0]
        return islice(self._by_distance((a for a in own if a.key != architecture.key), point, generator(0)), near)

    def drawn(self, rng: Generator) -> np.ndarray:
        return self._distances.drawn(rng)

    def _by_distance(self, some: Iterable[Architecture], point: np.ndarray, rng: Generator) -> list[Architecture]:
        """Each network once, by its distance."""
        different = list({a.key: a for a in some}.values())
        found = np.sqrt(((self.encoding.encode(different) - point) ** 2).sum(axis=1))
        order = np.lexsort((rng.random(len(different)), np.round(found / self._distances.rounding)))
        return [different[place] for place in order]


@lru_cache(maxsize=3)
def surroundings(space: Space, encoding: Encoding) -> Surroundings:
    """Made once for all searches of one space: a bench has hundreds."""
    return Listed(space, encoding) if space.size() <= MOST else Explored(space, encoding)
