"""Any searcher, of whose candidates only the most promising are trained to the end (Yan 2022, chapter 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings import Encoding, UnitCube
from secateur.errors import ConfigurationError
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

    Curves are those of the objective that changes in training. The inner searcher is told what came of whole trainings; what
    was stopped it is told as infeasible. Of several objectives, the best are those of the lowest non-dominated fronts.
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
        self._makes, self._made, self._learnt = extrapolator, None, 0
        #: By the number of a first training: its trial, once it has ended; whether it goes on; the inner searcher's number.
        self._first: dict[int, Trial] = {}
        self._goes_on: dict[int, bool] = {}
        self._inner: dict[int, int] = {}
        #: Whole trainings, as curves of the objective (b,).
        self._whole: list[tuple[Architecture, np.ndarray]] = []
        #: First trainings that are known to have gone on, where a search is restored: what was decided is not asked again.
        self._went_on: set[int] = set()
        #: What the inner searcher will be told at once, while a search is restored.
        self._kept: list[Trial] | None = None
        super().__init__(inner.space, inner.objectives, inner.seed)

    _made: Extrapolator | None

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
        self._inner = {t.id: place for place, t in enumerate(t for t in every if t.continues is None) if t.id is not None}
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
            self._whole.append((trial.architecture, self._curve(trial, self._first[number])))
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
        model = self._extrapolator()
        if len(self._whole) < model.needs:
            return True
        begun = self._curve(trial)[: model.seen]
        end = float(model.predict(self.encoding.encode([trial.architecture]), begun[None])[0][0])
        predicted = replace(trial, values={**trial.values, self._metric: end})
        whole = [t for t in self.history if t.complete and t.continues is not None]
        front = ranks(self.points([*whole, predicted]))
        return int((front[:-1] < front[-1]).sum()) < max(1, round(self.keep * len(whole)))

    def _extrapolator(self) -> Extrapolator:
        """Fitted to the whole trainings, or to nearly all of them."""
        if self._made is None:
            seen = int(np.searchsorted(self.budgets, self.few)) + 1
            maximised = self.objectives[self._place].direction == "max"
            self._made = self._makes(self.budgets, seen, maximised=maximised, seed=self.seed)
        if len(self._whole) >= max(self._learnt + 1, self.again * self._learnt):
            inputs = self.encoding.encode([architecture for architecture, _ in self._whole])
            self._made.learn(inputs, np.stack([curve for _, curve in self._whole]))
            self._learnt = len(self._whole)
        return self._made

    @property
    def _place(self) -> int:
        """Which objective changes in training: the first that curves have, else the first."""
        names = {name for trial in self._first.values() for _, values in trial.curve[:1] for name in values}
        return next((place for place, o in enumerate(self.objectives) if o.name in names), 0)

    @property
    def _metric(self) -> str:
        return self.objectives[self._place].name

    def _curve(self, *trials: Trial) -> np.ndarray:
        """The curve (b,) that trainings with their continuations have left, up to where they ended; on a line across gaps."""
        name = self._metric
        known: dict[float, float] = {}
        for trial in trials:
            known |= {at: values[name] for at, values in trial.curve if name in values}
        longest = max(trials, key=lambda t: t.budget or 0.0)
        known[longest.budget or self.most] = longest.values[name]
        at = np.array(sorted(known))
        found = np.interp(self.budgets, at, [known[budget] for budget in at.tolist()])
        return np.where(self.budgets <= at[-1], found, np.nan)
