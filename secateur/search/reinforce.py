"""REINFORCE (Williams 1992) with an LSTM policy, as Zoph & Le (2017) search architectures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from secateur.architecture import Architecture
from secateur.objectives import Objective
from secateur.rng import Generator, generator
from secateur.search.base import Searcher
from secateur.spaces.base import Space
from secateur.spaces.pool import whole
from secateur.spaces.sequences import Spelt
from secateur.trial import Trial, level

if TYPE_CHECKING:
    from secateur.search.policy import Policy


class Reinforce(Searcher):
    """A policy makes one choice after the other. After each result it takes a step towards the last `batch` results that were
    better than others, and away from those that were worse: the reward is the rank among the results of that batch, so that the
    few that are far off do not outweigh the rest.

    The policy is a function of the results in the order told: a resumed search learns them again.
    """

    name = "reinforce"
    #: The policy gradient is of its own draws.
    takes_extra = False
    #: More choices than this take a policy too long.
    most_dimensions: ClassVar[int] = 100
    #: Draws at once; where none is new, again with twice the temperature, so many times.
    draws: ClassVar[int] = 32
    hotter: ClassVar[int] = 4

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        rate: float = 0.003,
        batch: int = 10,
        entropy: float = 0.03,
        **more: Any,
    ) -> None:
        super().__init__(space, objectives, *base, **more)
        self.rate, self.batch, self.entropy = rate, batch, entropy
        self._spelt, self._whole = cast(Spelt, whole(space)), whole(space) is space
        self._latest: list[Trial] = []

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        inner = whole(space)
        if len(objectives) > 1:
            return f"`{cls.name}` follows one reward, so it takes one objective, got {len(objectives)}."
        if not isinstance(inner, Spelt):
            return f"`{cls.name}` needs a space of so many choices, one after the other, which `{space.name}` is not."
        if len(inner.counts) > cls.most_dimensions:
            return (
                f"`{cls.name}` needs a space of at most {cls.most_dimensions} choices, `{space.name}` has {len(inner.counts)} "
                "here. Use `random`, `local` or `mo-rea`."
            )
        return None

    @cached_property
    def _policy(self) -> Policy:
        from secateur.search.policy import Policy

        return Policy(self._spelt.counts, generator(self.seed, "policy"), rate=self.rate)

    def _learn(self, trial: Trial) -> None:
        if not trial.complete or level(trial.budget) < self._best.largest:
            return
        if self._latest and level(self._latest[-1].budget) < self._best.largest:
            self._latest = []  # values at a smaller budget do not compare with this one's
        self._latest = [*self._latest, trial][-self.batch :]
        values = self.points(self._latest)[:, 0]
        worse, equal = values[None] > values[:, None], values[None] == values[:, None]
        shares = (worse.sum(axis=1) + equal.sum(axis=1) / 2) / len(values)
        sequences = np.stack([self._spelt.indices(t.architecture) for t in self._latest])
        self._policy.learn(sequences, 2 * shares - 1, self.entropy)

    def _propose(self, rng: Generator) -> Architecture | None:
        for hotter in range(self.hotter):
            for places in self._policy.draw(self.draws, 2.0**hotter, rng):
                found = self._spelt.from_indices(places)
                if found is not None and self._is_new(found) and (self._whole or self.space.contains(found)):
                    return found
        return None
