"""The rounds of a model-based search: what a model proposes, then neighbours of the best (Yan 2022, chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.objectives import Objective, matrix
from secateur.pareto import non_dominated
from secateur.rng import generator
from secateur.trial import Trial, level


class Rounds:
    """From proposal `initial` on, each round has `refit` proposals of one model; then, of the `around` best so far, those that
    are not of this round have a neighbour proposed each. Of several objectives, the best are the front, or a random part of it.

    What counts as known when the neighbours begin is what was told before the first of them, or any later proposal, was. So a
    round is a function of the proposal's number and the results in the order told.
    """

    def __init__(self, objectives: Sequence[Objective], initial: int, refit: int, around: int, seed: int) -> None:
        self.objectives, self.refit, self.around, self.seed = objectives, refit, around, seed
        self.initial = initial
        #: Where the first round begins whose end may change yet.
        self._open = initial

    def first(self, asked: int, history: Sequence[Trial]) -> int:
        """The first proposal of the round of this one."""
        if not self.around or asked < self.initial:
            return max(0, asked - (asked - self.initial) % self.refit)
        return self._round(asked, history)[0]

    def base(self, asked: int, history: Sequence[Trial]) -> Architecture | None:
        """What this proposal is to be a neighbour of; None where a model proposes it."""
        if not self.around or asked < self.initial:
            return None
        first, bases = self._round(asked, history)
        return bases[asked - first - self.refit] if asked >= first + self.refit else None

    def _round(self, asked: int, history: Sequence[Trial]) -> tuple[int, list[Architecture]]:
        """Where the round begins, and what the neighbours in it are of; nothing as long as a model proposes."""
        first = self._open
        while asked >= first + self.refit:
            end = first + self.refit
            told = next((i for i, t in enumerate(history) if t.id is not None and t.id >= end), None)
            bases = [t.architecture for t in self._best(history[:told], first) if t.id is None or t.id < first]
            if asked < end + len(bases):
                return first, bases
            if told is not None and first == self._open:
                self._open = end + len(bases)  # nothing that is told from now on changes this round
            first = end + len(bases)
        return first, []

    def _best(self, known: Sequence[Trial], first: int) -> list[Trial]:
        """The best results that are known, at the largest budget."""
        complete = [t for t in known if t.complete]
        largest = max((level(t.budget) for t in complete), default=0.0)
        complete = [t for t in complete if level(t.budget) == largest]
        points = matrix([t.values for t in complete], self.objectives)
        if len(self.objectives) == 1:
            return [complete[i] for i in np.argsort(points[:, 0], kind="stable")[: self.around]]
        front = np.flatnonzero(non_dominated(points))
        if len(front) > self.around:
            front = np.sort(generator(self.seed, "around", first).permutation(front)[: self.around])
        return [complete[i] for i in front]
