"""REINFORCE (Williams 1992) with an LSTM policy, as Zoph & Le (2017) and, in an encoding, Yan (2022) search architectures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from secateur.architecture import Architecture
from secateur.encodings.nearby import Nearby
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.rng import Generator
from secateur.search.base import Searcher
from secateur.search.encoded import Encoded
from secateur.search.ways import Going, Spelling, Way
from secateur.spaces.base import Space
from secateur.spaces.pool import whole
from secateur.spaces.sequences import Spelt
from secateur.trial import Trial, level


class Reinforce(Searcher):
    """A policy makes one choice after the other, or (in an encoding) goes from one architecture to the next. It takes steps
    towards those of the last `batch` results that were better than others, and away from those that were worse: the reward is
    the rank among the results of that batch, so that the few that are far off do not outweigh the rest.

    The policy is a function of the results in the order told: a resumed search learns them again. `entropy` is of choices that
    are spelt; `deviation` and `discount` are of ways in an encoding, whose `rate` and `batch` are 0.03 and 16 (0.003 and 10).
    """

    name = "reinforce"
    #: The policy gradient is of its own draws.
    takes_extra = False
    #: More choices than this take a policy too long.
    most_dimensions: ClassVar[int] = 100

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        rate: float | None = None,
        batch: int | None = None,
        entropy: float = 0.03,
        deviation: float = 1.0,
        discount: float = 0.0,
        **more: Any,
    ) -> None:
        if deviation <= 0 or not 0 <= discount <= 1:
            raise ConfigurationError(
                f"`deviation` must be above 0 and `discount` lie in 0…1, got {deviation:g} and {discount:g}."
            )
        super().__init__(space, objectives, *base, **more)
        kind = Going if isinstance(space, Nearby) else Spelling
        self.rate, self.batch = kind.rate if rate is None else rate, kind.batch if batch is None else batch
        self._way: Way = (
            Going(space, self.seed, self.rate, deviation, discount)
            if isinstance(space, Nearby)
            else Spelling(space, self.seed, self.rate, entropy)
        )
        self._latest: list[Trial] = []

    @classmethod
    def encoded(cls, encoding: str) -> Encoded:
        """The same in an encoding, by name or by the folder of a trained one. Raises UnknownNameError."""
        return Encoded(cls, encoding)

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        inner = whole(space)
        if len(objectives) > 1:
            return f"`{cls.name}` follows one reward, so it takes one objective, got {len(objectives)}."
        if isinstance(space, Nearby):
            return None
        if not isinstance(inner, Spelt):
            return f"`{cls.name}` needs a space of so many choices, one after the other, which `{space.name}` is not."
        if len(inner.counts) > cls.most_dimensions:
            return (
                f"`{cls.name}` needs a space of at most {cls.most_dimensions} choices, `{space.name}` has {len(inner.counts)} "
                "here. Use `random`, `local` or `mo-rea`."
            )
        return None

    def _learn(self, trial: Trial) -> None:
        if not trial.complete or level(trial.budget) < self._best.largest:
            return
        if self._latest and level(self._latest[-1].budget) < self._best.largest:
            self._latest = []  # values at a smaller budget do not compare with this one's
        self._latest = [*self._latest, trial][-self.batch :]
        if self._way.episodes and len(self._latest) < self.batch:
            return
        values = self.points(self._latest)[:, 0]
        worse, equal = values[None] > values[:, None], values[None] == values[:, None]
        shares = (worse.sum(axis=1) + equal.sum(axis=1) / 2) / len(values)
        self._way.learn([t.architecture for t in self._latest], 2 * shares - 1)
        if self._way.episodes:
            self._latest = []

    def _propose(self, rng: Generator) -> Architecture | None:
        return self._way.propose([t.architecture for t in self._latest], self._is_new, rng)
