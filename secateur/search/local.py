"""Multi-objective local search (Klein et al. 2024, algorithm 5), which starts again where it can climb no further."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, ClassVar

from secateur.architecture import Architecture
from secateur.objectives import Objective
from secateur.rng import Generator, generator
from secateur.search.base import Searcher
from secateur.search.encoded import Encoded
from secateur.search.running_front import RunningFront
from secateur.spaces.base import Space
from secateur.trial import Trial


class LocalSearch(Searcher):
    """Begins where the space says; then a random element of the front gets a new value in one random dimension.

    Where all neighbours of the front were seen, it starts again at a random point: from then on, the front is that of what was
    told since.
    """

    name = "local"
    #: So many steps are drawn; where none is new, unseen neighbours are listed, at most so many of the front's.
    draws: ClassVar[int] = 50
    most_listed: ClassVar[int] = 2000

    def __init__(self, space: Space, objectives: Sequence[Objective], *base: Any, **more: Any) -> None:
        super().__init__(space, objectives, *base, **more)
        #: The front of what was told since the last start.
        self._climb = RunningFront(len(self.objectives))
        self._restarts = 0
        self._told: set[str] = set()

    @classmethod
    def encoded(cls, encoding: str) -> Encoded:
        """The same with steps in an encoding, by name or by the folder of a trained one. Raises UnknownNameError."""
        return Encoded(cls, encoding)

    @cached_property
    def _start(self) -> Architecture:
        return self.space.start(generator(self.seed, "start"))

    @cached_property
    def _next_start(self) -> Architecture:
        """Where the next climb begins, from the history alone; the first start where nothing untold was drawn."""
        rng = generator(self.seed, "restart", self._restarts)
        drawn = (self.space.sample(rng) for _ in range(self.draws))
        return next((a for a in drawn if a.key not in self._told and a.key != self._start.key), self._start)

    def _learn(self, trial: Trial) -> None:
        begun = trial.key == self._next_start.key != self._start.key
        self._told.add(trial.key)
        if begun:
            self._restarts += 1
            del self._next_start
        if begun and trial.id is not None:
            self._climb = RunningFront(len(self.objectives))
        if trial.complete:
            self._climb.add(trial, self.points([trial])[0])

    def _propose(self, rng: Generator) -> Architecture | None:
        if self._is_new(self._start):
            return self._start
        bases = self._bases()
        if bases:
            found = self._unseen(lambda: self.space.mutate(bases[int(rng.integers(len(bases)))], rng), self.draws)
            if found is None:
                found = self._listed(bases, rng)
            if found is not None:
                return found
        return self._next_start if self._is_new(self._next_start) else None

    def _bases(self) -> list[Architecture]:
        """What to take a step from: a start that still runs, else the front; none where the start broke a bound or failed."""
        running = {t.key for t in self.pending.values()}
        if self._next_start.key in running:
            return [self._next_start]
        if not self._climb.trials and self._start.key in running:
            return [self._start]
        return [t.architecture for t in self._climb.trials]

    def _listed(self, bases: list[Architecture], rng: Generator) -> Architecture | None:
        """An unseen neighbour of the front. As draws found none, there are few neighbours, or nearly all were seen."""
        order = (bases[i] for i in rng.permutation(len(bases)))
        near = islice(chain.from_iterable(map(self.space.neighbours, order)), self.most_listed)
        left = [a for a in near if self._is_new(a)]
        return left[int(rng.integers(len(left)))] if left else None
