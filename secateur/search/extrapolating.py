"""Any searcher, of whose candidates only the most promising are trained to the end (Yan 2022, chapter 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings import Encoding, UnitCube
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.pareto import ranks
from secateur.rng import Generator
from secateur.search.base import Searcher
from secateur.trial import Status, Trial

if TYPE_CHECKING:
    from secateur.predictors.curves.extrapolators import Extrapolator

#: What makes an extrapolator: (budgets, how many of them are seen, maximised=…, seed=…).
Makes = Callable[..., "Extrapolator"]


class Extrapolating(Searcher):
    """Candidates are the inner searcher's. Each is trained to the budget `few` first; from there its end is extrapolated, and
    it goes on to the last of `budgets` where that end would be in the best `keep` of what was trained to the end. The first
    `begin` all go on: extrapolators learn from them.

    Curves are those of the objectives that change in training. The inner searcher is told what came of whole trainings; what
    was stopped it is told as infeasible. Of several objectives, the best are those of the lowest non-dominated fronts.

    An extrapolator that looks at one curve at a time may be wrong about all of them alike: whole trainings tell by how much.
    """

    takes_extra = False
    #: A model of curves is fitted again when there are so many times more of them.
    again: ClassVar[float] = 1.1

    def __init__(
        self,
        inner: Searcher,
        extrapolator: Makes,
        budgets: Sequence[float],
        *,
        few: float,
        keep: float = 0.5,
        begin: int = 10,
        encoding: Encoding | None = None,
    ) -> None:
        self.budgets = np.asarray(sorted(budgets), dtype=np.float64)
        faults = []
        if len(self.budgets) < 2 or few not in self.budgets[:-1]:
            listed = ", ".join(f"{budget:g}" for budget in self.budgets[:-1]) or "none"
            faults.append(f"`few` must be a budget before the last one, one of: {listed}; got {few:g}.")
        if not 0 < keep <= 1:
            faults.append(f"`keep` must be a share above 0 and at most 1, got {keep:g}.")
        if begin < 1:
            faults.append(f"`begin` must be at least 1, got {begin}.")
        if faults:
            raise ConfigurationError(faults)
        self.inner, self.few, self.most, self.keep, self.begin = inner, float(few), float(self.budgets[-1]), keep, begin
        self.name = f"{inner.name}, extrapolated"
        self.encoding = UnitCube(inner.space) if encoding is None else encoding
        self._makes, self._learnt = extrapolator, 0
        #: By the name of an objective: what extrapolates its curves, and by how much it is wrong about all of them.
        self._made: dict[str, Extrapolator] = {}
        self._gaps: dict[str, float] = {}
        #: By the number of a first training: its trial, once it has ended; whether it goes on; the inner searcher's number.
        self._first: dict[int, Trial] = {}
        self._goes_on: dict[int, bool] = {}
        self._inner: dict[int, int] = {}
        #: Whole trainings: a first training and what continued it.
        self._whole: list[tuple[Trial, Trial]] = []
        #: First trainings that are known to have gone on, where a search is restored: what was decided is not asked again.
        self._went_on: set[int] = set()
        #: What the inner searcher will be told at once, while a search is restored.
        self._kept: list[Trial] | None = None
        super().__init__(inner.space, inner.objectives, inner.seed)

    def _propose(self, rng: Generator) -> Architecture | None:
        raise AssertionError("the inner searcher proposes")

    def _next_trial(self, rng: Generator) -> Trial | None:
        for number, goes_on in self._goes_on.items():
            first = self._first[number]
            if goes_on and (first.key, self.most) not in self.seen:
                return Trial(self.asked, first.architecture, Status.RUNNING, budget=self.most, continues=number)
        asked = self.inner.ask(1)
        if not asked:
            return None
        assert asked[0].id is not None
        self._inner[self.asked] = asked[0].id
        return Trial(self.asked, asked[0].architecture, Status.RUNNING, budget=self.few)

    def may_continue(self, left: int) -> set[str]:
        waiting = {self._first[n].key for n, goes_on in self._goes_on.items() if goes_on}
        return {key for key in waiting if (key, self.most) not in self.seen} | {t.key for t in self.pending.values()}

    def restore(self, history: Sequence[Trial], pending: Sequence[Trial] = ()) -> None:
        every = sorted((*history, *pending), key=lambda t: t.id or 0)
        self._went_on = {t.continues for t in every if t.continues is not None}
        asked = (t.id for t in every if t.continues is None and t.id is not None)
        self._inner = {number: place for place, number in enumerate(asked)}
        self._kept = []
        super().restore(history, pending)
        told, self._kept = self._kept, None
        known = {trial.id for trial in told}
        waiting = [
            Trial(self._inner[t.id], t.architecture, Status.RUNNING)
            for t in every
            if t.id is not None and t.continues is None and self._inner[t.id] not in known
        ]
        self.inner.restore(told, waiting)

    def adopt(self, trial: Trial) -> None:
        super().adopt(trial)
        assert trial.id is not None
        if trial.continues is None:
            self._inner[trial.id] = self.inner.asked
            self.inner.adopt(replace(trial, id=self.inner.asked, budget=None))

    def retract(self, trial: Trial) -> None:
        super().retract(trial)
        assert trial.id is not None
        if trial.continues is None:
            self.inner.retract(self.inner.pending[self._inner.pop(trial.id)])

    def _learn(self, trial: Trial) -> None:
        number = trial.id if trial.continues is None else trial.continues
        assert number is not None
        if trial.continues is None and trial.complete:
            self._first[number] = trial
            promises = self._promises(trial)  # asked in any case: what it learns by that decides later ones
            self._goes_on[number] = promises or number in self._went_on
            if self._goes_on[number]:
                return
            trial = replace(trial, status=Status.INFEASIBLE, reason="its training was stopped early")
        elif trial.complete:
            self._whole.append((self._first[number], trial))
        self._tell(replace(trial, id=self._inner[number], budget=None, continues=None))

    def _tell(self, trial: Trial) -> None:
        if self._kept is None:
            self.inner.tell(trial)
        else:
            self._kept.append(trial)

    def _promises(self, trial: Trial) -> bool:
        """Whether a first training goes on: at first all do, then those whose predicted end is among the best."""
        if len(self._whole) < self.begin:
            return True
        self._learn_curves()
        if any(len(self._whole) < model.needs for model in self._made.values()):
            return True
        inputs = self.encoding.encode([trial.architecture])
        ends = {name: self._end(name, inputs, trial) for name in self._made}
        whole = [t for _, t in self._whole]
        front = ranks(self.points([*whole, replace(trial, values={**trial.values, **ends})]))
        return int((front[:-1] < front[-1]).sum()) < max(1, round(self.keep * len(whole)))

    def _end(self, name: str, inputs: np.ndarray, trial: Trial) -> float:
        """What an objective of a first training would be in the end."""
        model = self._made[name]
        found = model.predict(inputs, self._curve(name, trial)[None, : model.seen])[0][0]
        return float(found) + self._gaps.get(name, 0.0)

    def _learn_curves(self) -> None:
        """Fit extrapolators to the whole trainings, unless they know nearly all of them."""
        if len(self._whole) < max(self._learnt + 1, self.again * self._learnt):
            return
        self._learnt = len(self._whole)
        inputs = self.encoding.encode([first.architecture for first, _ in self._whole])
        seen = int(np.searchsorted(self.budgets, self.few)) + 1
        for objective in self._changing:
            name, maximised = objective.name, objective.direction == "max"
            model = self._made.setdefault(name, self._makes(self.budgets, seen, maximised=maximised, seed=self.seed))
            curves = np.stack([self._curve(name, *trials) for trials in self._whole])
            model.learn(inputs, curves)
            if not model.learns:
                self._gaps[name] = float((curves[:, -1] - model.predict(inputs, curves[:, :seen])[0]).mean())

    @property
    def _changing(self) -> list[Objective]:
        """The objectives that change in training: those that curves have, else the first."""
        names = {name for trial in self._first.values() for _, values in trial.curve[:1] for name in values}
        return [one for one in self.objectives if one.name in names] or [self.objectives[0]]

    def _curve(self, name: str, *trials: Trial) -> np.ndarray:
        """The curve (b,) of an objective that a training with its continuation has left, up to where it ended; on a line across
        gaps."""
        known: dict[float, float] = {}
        for trial in trials:
            known |= {at: values[name] for at, values in trial.curve if name in values}
        longest = max(trials, key=lambda t: t.budget or 0.0)
        known[longest.budget or self.most] = longest.values[name]
        at = np.array(sorted(known))
        found = np.interp(self.budgets, at, [known[budget] for budget in at.tolist()])
        return np.where(self.budgets <= at[-1], found, np.nan)
