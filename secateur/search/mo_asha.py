"""Multi-objective asynchronous successive halving (Li et al. 2020, Schmucker et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from secateur.architecture import Architecture
from secateur.objectives import Objective
from secateur.rng import Generator
from secateur.search.best_first import best_first
from secateur.search.rungs import OnRungs
from secateur.spaces.base import Space
from secateur.trial import Status, Trial


class MoAsha(OnRungs):
    """Random architectures at the least budget; the best 1/eta of a rung go on to the next one, with eta times the budget.

    The best are those of the lowest non-dominated front; `order` ranks the members of one front. A trial that goes on continues
    the one it was. As soon as one may go on, it does, from the highest rung down: no worker waits for a rung to be full.

    `contenders` are tried instead of random draws. Then it is known how many will come to a rung: nothing goes on before all
    are there, and at least one always does.
    """

    name = "mo-asha"

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        contenders: Sequence[Architecture] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(space, objectives, *base, **more)
        self.contenders = contenders

    def _next_trial(self, rng: Generator) -> Trial | None:
        for low, high in reversed(list(pairwise(self.rungs))):
            for trial in self.promotable(low):
                if self._is_new(trial.architecture, high):
                    return Trial(self.asked, trial.architecture, Status.RUNNING, budget=high, continues=trial.id)
        if self.contenders is None:
            architecture = self._new_architecture(rng)
        else:
            architecture = next((a for a in self.contenders if self._is_new(a)), None)
        return None if architecture is None else Trial(self.asked, architecture, Status.RUNNING, budget=self.rungs[0])

    def promotable(self, rung: float) -> list[Trial]:
        """The best 1/eta of what was told on a rung, the best first, whether they have gone on or not."""
        ranked = self.ranked(rung)
        if self.contenders is None:
            return ranked[: len(ranked) // self.eta]
        place, expected = self.rungs.index(rung), len({a.key for a in self.contenders})
        for low in self.rungs[:place]:
            expected = min(max(1, expected // self.eta), len(self.ranked(low)))
        # Who failed at the start was there too; for one that fails on the next rung, the next best goes on.
        there = len(ranked) if place else sum(t.budget == rung for t in self.history)
        lost = sum(t.budget == self.rungs[place + 1] and not t.complete for t in self.history)
        return ranked[: max(1, expected // self.eta) + lost] if there >= expected else []

    def ranked(self, rung: float) -> list[Trial]:
        """What was told on a rung, the best first: by non-dominated fronts, then by `order`."""
        ended = [t for t in self.history if t.complete and t.budget == rung and t.id is not None]
        return [ended[i] for i in best_first(self.points(ended), self.order)]

    def may_continue(self, left: int) -> set[str]:
        """Those that have not gone on and would still be among the best if all that is left came below them; and what runs."""
        found: set[str] = set()
        for low, high in pairwise(self.rungs):
            ranked = self.ranked(low)
            room = (len(ranked) + left) // self.eta
            found |= {t.key for t in ranked[:room] if self._is_new(t.architecture, high)}
        return found | {t.key for t in self.pending.values()}

    def _is_new(self, architecture: Architecture, budget: float | None = None) -> bool:
        return (architecture.key, self.rungs[0] if budget is None else budget) not in self.seen
