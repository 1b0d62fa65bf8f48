"""Successive halving (Jamieson & Talwalkar 2016) in the brackets of Hyperband (Li et al. 2018)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

from secateur.architecture import Architecture
from secateur.objectives import Objective
from secateur.rng import Generator
from secateur.search.best_first import best_first
from secateur.search.rungs import OnRungs
from secateur.spaces.base import Space
from secateur.trial import Status, Trial


class Bracket(NamedTuple):
    """How many trials there are at each budget: the first `sizes` begin, of each the best as many as the next says go on."""

    sizes: tuple[int, ...]
    budgets: tuple[float, ...]


class Rung(NamedTuple):
    """Those of the best who have not gone on, and whether all that were to come have come and ended."""

    left: list[Trial]
    whole: bool


def brackets(budgets: Sequence[float], eta: int) -> list[Bracket]:
    """The brackets of Hyperband, from many trials that begin at the least budget to few at the largest: about equally dear."""
    found = []
    for halvings in reversed(range(len(budgets))):
        first = math.ceil(len(budgets) * eta**halvings / (halvings + 1))
        found.append(Bracket(tuple(first // eta**i for i in range(halvings + 1)), tuple(budgets[-halvings - 1 :])))
    return found


class Hyperband(OnRungs):
    """Random draws in brackets, one after the other and over again: when all of a rung have ended, its best go on to the next
    with eta times the budget. The best are those of the lowest non-dominated front; `order` ranks the members of one front.

    A trial that goes on continues the one it was. While a rung is waited for, the next bracket begins: no worker is idle.
    """

    name = "hyperband"

    def __init__(self, space: Space, objectives: Sequence[Objective], *base: Any, **more: Any) -> None:
        super().__init__(space, objectives, *base, **more)
        self.brackets = self._choose(brackets(self.rungs, self.eta))
        #: How many brackets have ended: never looked at again.
        self._ended = 0

    def _choose(self, every: list[Bracket]) -> list[Bracket]:
        """The brackets that are gone through in turn."""
        return every

    def _next_trial(self, rng: Generator) -> Trial | None:
        later = self._later()
        begun = list(self._begun())
        for place, (bracket, first) in enumerate(begun):
            rungs = list(self._rungs(bracket, first, later))
            if (going := self._going_on(bracket, rungs)) is not None:
                return going
            self._ended += place == 0 and all(rung.whole for rung in rungs)
        bracket, first = begun[-1]
        architecture = self._new_architecture(rng)
        if architecture is None:  # the space is exhausted: this bracket stays as small as it is
            return self._going_on(bracket, list(self._rungs(bracket, first, later, len(first))))
        return Trial(self.asked, architecture, Status.RUNNING, budget=bracket.budgets[0])

    def _asked(self) -> list[Trial]:
        return [*(t for t in self.history if t.id is not None), *self.pending.values()]

    def _later(self) -> dict[int | None, Trial]:
        """Trials by the one that they continue."""
        return {t.continues: t for t in self._asked() if t.continues is not None}

    def _begun(self) -> Iterator[tuple[Bracket, list[Trial]]]:
        """The brackets that have not ended, with the trials that began in each: the last has room for one more."""
        began = sorted((t for t in self._asked() if t.continues is None), key=lambda t: t.id or 0)
        start = 0
        for number, bracket in enumerate(cycle(self.brackets)):
            end = start + bracket.sizes[0]
            if number >= self._ended:
                yield bracket, began[start:end]
            if end > len(began):
                return
            start = end

    def _rungs(
        self, bracket: Bracket, first: list[Trial], later: Mapping[int | None, Trial], expected: int | None = None
    ) -> Iterator[Rung]:
        """The rungs of a bracket in which `first` began, as many as `expected` or as the bracket says."""
        members, expected = first, bracket.sizes[0] if expected is None else expected
        for size in (*bracket.sizes[1:], 0):
            complete = [t for t in members if t.complete]
            best = [complete[i] for i in best_first(self.points(complete), self.order)[:size]]
            whole = len(members) == expected and all(t.status != Status.RUNNING for t in members)
            yield Rung([t for t in best if t.id not in later], whole)
            members, expected = [later[t.id] for t in best if t.id in later], len(best)

    def _going_on(self, bracket: Bracket, rungs: list[Rung]) -> Trial | None:
        """The best that may go on and has not, from the lowest rung up."""
        for rung, budget in zip(rungs, bracket.budgets[1:], strict=False):
            if rung.whole and rung.left:
                trial = rung.left[0]
                return Trial(self.asked, trial.architecture, Status.RUNNING, budget=budget, continues=trial.id)
        return None

    def may_continue(self, left: int) -> set[str]:
        """Those that are among the best of their rung so far and have not gone on; and what runs."""
        later = self._later()
        rungs = [rung for begun in self._begun() for rung in self._rungs(*begun, later)]
        return {t.key for rung in rungs for t in rung.left} | {t.key for t in self.pending.values()}

    def _is_new(self, architecture: Architecture, budget: float | None = None) -> bool:
        return all((architecture.key, b) not in self.seen for b in (None, *self.rungs))


class SuccessiveHalving(Hyperband):
    """The bracket with the most trials, over and over."""

    name = "successive-halving"

    def _choose(self, every: list[Bracket]) -> list[Bracket]:
        return every[:1]
