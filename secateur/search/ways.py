"""The two ways in which REINFORCE gets to an architecture: it spells one, or it goes to one in an encoding. Torch loads on
first use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings.named import standardised
from secateur.encodings.nearby import Nearby
from secateur.encodings.surroundings import surroundings
from secateur.rng import Generator, generator
from secateur.spaces.base import Space
from secateur.spaces.pool import whole
from secateur.spaces.sequences import Spelt

if TYPE_CHECKING:
    from secateur.search.latent_policy import LatentPolicy
    from secateur.search.policy import Policy

#: Whether an architecture may be proposed.
New = Callable[[Architecture], bool]


class Way(ABC):
    """A policy and what its actions mean."""

    #: The learning rate, and on how many results a step is taken, where nothing else is asked for.
    rate: ClassVar[float]
    batch: ClassVar[int]
    #: Whether each result is learnt once, with those of its episode; else a step is taken on the latest after each.
    episodes: ClassVar[bool]

    @abstractmethod
    def propose(self, latest: Sequence[Architecture], new: New, rng: Generator) -> Architecture | None:
        """A new architecture, or None where none was found; `latest` is what was tried in this episode."""

    @abstractmethod
    def learn(self, tried: Sequence[Architecture], rewards: np.ndarray) -> None:
        """Take a step towards what was tried and had rewards (n,) above 0, and away from the rest."""


class Spelling(Way):
    """One choice after the other, as Zoph & Le (2017) have it; `entropy` keeps the policy open."""

    rate, batch, episodes = 0.003, 10, False
    #: Draws at once; where none is new, again with twice the temperature, so many times.
    draws: ClassVar[int] = 32
    hotter: ClassVar[int] = 4

    def __init__(self, space: Space, seed: int, rate: float, entropy: float) -> None:
        self.space, self.seed, self.entropy, self._rate = space, seed, entropy, rate
        self._spelt, self._whole = cast(Spelt, whole(space)), whole(space) is space

    @cached_property
    def _policy(self) -> Policy:
        from secateur.search.policy import Policy

        return Policy(self._spelt.counts, generator(self.seed, "policy"), rate=self._rate)

    def propose(self, latest: Sequence[Architecture], new: New, rng: Generator) -> Architecture | None:
        for hotter in range(self.hotter):
            for places in self._policy.draw(self.draws, 2.0**hotter, rng):
                found = self._spelt.from_indices(places)
                if found is not None and new(found) and (self._whole or self.space.contains(found)):
                    return found
        return None

    def learn(self, tried: Sequence[Architecture], rewards: np.ndarray) -> None:
        self._policy.learn(np.stack([self._spelt.indices(a) for a in tried]), rewards, self.entropy)


class Going(Way):
    """From one vector to the next, as arch2vec-RL does (Yan 2022, chapter 3): the policy draws a point, and the nearest new
    architecture is tried. Vectors are standardised. A reward counts for the ways before it as well, by `discount` less for each
    that lies between.

    The policy learns from where it got, not from the point it drew: the vectors of what was tried are the actions taken. So
    what is learnt follows from the results alone.
    """

    rate, batch, episodes = 0.03, 16, True
    #: Points that are drawn: in a space that cannot be listed, all that lies near one may have been tried.
    draws: ClassVar[int] = 4

    def __init__(self, space: Nearby, seed: int, rate: float, deviation: float, discount: float) -> None:
        self.seed, self.deviation, self.discount, self._rate = seed, deviation, discount, rate
        self._space, self._encoding = space.space, standardised(space.space, space.encoding)
        #: Where an episode begins: where the last one ended.
        self._begin = np.zeros(self._encoding.dimensions)

    @cached_property
    def _policy(self) -> LatentPolicy:
        from secateur.search.latent_policy import LatentPolicy

        size, rng = self._encoding.dimensions, generator(self.seed, "policy")
        return LatentPolicy(size, rng, rate=self._rate, deviation=self.deviation)

    def propose(self, latest: Sequence[Architecture], new: New, rng: Generator) -> Architecture | None:
        near = surroundings(self._space, self._encoding)
        for point in self._policy.draw(self.draws, self._visited(latest), rng):
            found = next((a for a in near.nearest(point, rng) if new(a)), None)
            if found is not None:
                return found
        return None

    def learn(self, tried: Sequence[Architecture], rewards: np.ndarray) -> None:
        returns = rewards.astype(float)
        for place in reversed(range(len(returns) - 1)):
            returns[place] += self.discount * returns[place + 1]
        visited = self._visited(tried)
        self._policy.learn(visited, returns)
        self._begin = visited[-1]

    def _visited(self, tried: Sequence[Architecture]) -> np.ndarray:
        """The vectors (n + 1, d) of an episode, with that before it."""
        return np.concatenate([self._begin[None], self._encoding.encode(tried)])
