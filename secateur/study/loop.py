"""The study: ask, evaluate, store, tell, until enough is done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from secateur.errors import ConfigurationError, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.together import Outcome, Together
from secateur.objectives import Objective
from secateur.search.base import Searcher
from secateur.study.executors import Executor, Inline
from secateur.study.front import Front
from secateur.study.log import RunLog
from secateur.study.shared_store import News
from secateur.study.sharing import LEASE, sharing
from secateur.study.store import Store
from secateur.trial import Status, Trial

#: So many failures and nothing else at the start of a run: something is broken, and more trials would not mend it.
HOPELESS = 10


@dataclass(frozen=True)
class Stop:
    """When a study has done enough, what earlier runs of it did included: so many `trials` that were asked for have ended,
    their `seconds` (by the clock, or simulated on a table) are spent, or their `budget` is.

    A trial that continues another spends the difference only; one without a budget counts as 1.
    """

    trials: int | None = None
    seconds: float | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        limits = {"trials": self.trials, "seconds": self.seconds, "budget": self.budget}
        if all(limit is None for limit in limits.values()):
            raise ConfigurationError("say when the study should stop: give `trials`, `seconds` or `budget`.")
        faults = [f"`{name}` must not be negative, got {limit}." for name, limit in limits.items() if (limit or 0) < 0]
        if faults:
            raise ConfigurationError(faults)


class Study:
    """One searcher, one store, and an executor: by default trials run one after the other in this process.

    A searcher that is new and a store that is not: the searcher is restored from it, and trials that were running when the last
    process ended are evaluated first. With deterministic estimators and one worker the trials are then those of a run that was
    never stopped. `on_trial` is called with each trial that ends, not with the extras that come with it. `unpruned` holds the
    unpruned network's values, which relative bounds refer to. `bounds` are kept and not optimised. An `executor` has estimators
    of its own: then none are given here.

    Several processes may run a study on one database, each with a searcher of the same kind and seed: they are its drivers.
    Each is told what the others found, in the one order that is stored. A driver that is not heard of for `lease` seconds has
    died, and its trials run again elsewhere.
    """

    def __init__(
        self,
        store: Store,
        searcher: Searcher,
        estimators: Sequence[Estimator],
        objectives: Sequence[Objective],
        unpruned: Mapping[str, float] | None = None,
        *,
        bounds: Sequence[Objective] = (),
        executor: Executor | None = None,
        log: RunLog | None = None,
        on_trial: Callable[[Trial], None] | None = None,
        lease: float = LEASE,
    ) -> None:
        together = Together(estimators, objectives, bounds, unpruned)
        faults = [] if objectives else ["a study needs at least one objective."]
        if lease <= 0:
            faults.append(f"`lease` must be above 0 seconds, got {lease:g}.")
        if executor is not None and (estimators or bounds):
            faults.append("an executor has its own estimators and bounds: do not give others with it.")
        if executor is None:
            known = together.yields
            faults += [f"no estimator yields the objective `{o.name}`." for o in objectives if o.name not in known]
            faults += [f"no estimator yields the bounded `{b.name}`." for b in bounds if b.name not in known]
        if faults:
            raise ConfigurationError(faults)
        self.store = store
        self.searcher = searcher
        self.objectives = tuple(objectives)
        self.unpruned = dict(unpruned or {})
        #: Whether the searcher found nothing new to propose.
        self.exhausted = False
        self._asking: dict[int | None, float] = {}
        self._executor = Inline(together) if executor is None else executor
        self._log = log
        self._on_trial = on_trial
        self._sharing = sharing(store, lease)
        self._restore()

    def _restore(self) -> None:
        trials = self.store.trials()
        self._sharing.know(trials)
        # What was added beside the search (polished networks) does not make an architecture known to it.
        self._points = {t.point for t in trials if t.id is not None or t.told is not None}
        asked = [t for t in trials if t.id is not None]
        ended = [t for t in asked if t.status != Status.RUNNING]
        self._budgets = {t.id: t.budget for t in asked}
        self._ended = len(ended)
        self._seconds = sum(t.seconds or 0.0 for t in ended)
        #: Seconds to where a trial ended, those of the trials that it continues included.
        self._reached: dict[int | None, float] = {}
        for trial in sorted(ended, key=lambda t: t.id or 0):
            self._reach(trial)
        self._budget = sum(map(self._spent, ended))
        self._hopeful = any(t.status != Status.FAILED for t in ended)
        history = sorted((t for t in trials if t.told is not None), key=lambda t: t.told or 0)
        pending = [t for t in asked if t.status == Status.RUNNING]
        if history or pending:
            self.searcher.restore(history, pending)
            self._note("resumed", ended=self._ended, running=len(pending))

    def run(self, stop: Stop) -> None:
        """Go on until enough is done, or the searcher is exhausted and nothing is running.

        Raises StudyError where the first trials all fail. Ctrl-C and errors of the user's leave the trials under way as
        running: the next run evaluates them first.
        """
        try:
            with self._sharing.at_work():
                self._run(stop)
        except BaseException:
            self._executor.close()  # the next run begins what is under way anew: no outcome of it may come twice
            raise
        if self.exhausted:
            self._note("exhausted", ended=self._ended, wanted=stop.trials)

    def _run(self, stop: Stop) -> None:
        failures = 0
        running: dict[int | None, Trial] = {}
        while True:
            while len(running) < self._executor.workers and not self._enough(stop, running.values()):
                self._hear(self._sharing.hear())
                next_one = self._sharing.lost()
                if next_one is None and not self._enough(stop, [*running.values(), *self._sharing.others()]):
                    next_one = self._ask()
                    if next_one is None and not self.exhausted:
                        continue  # another driver was first
                if next_one is None:
                    break
                running[next_one.id] = next_one
                self._executor.submit(next_one, self.store.known(next_one.key), self.searcher.takes_extra)
            if not running:
                if self._enough(stop, ()) or not self._sharing.others():
                    break
                self._hear(self._sharing.wait())  # what others run may bring more to do, or is left to this driver
                continue
            ended = self._end(self._executor.take())
            del running[ended.id]
            failures = failures + 1 if ended.status == Status.FAILED else 0
            if failures >= HOPELESS and not self._hopeful:
                raise StudyError(f"the first {failures} trials all failed, so the study stops. The last reason: {ended.reason}")

    def _hear(self, news: News) -> None:
        self._tell(news)
        self._report(news)

    def _tell(self, news: News) -> None:
        """Tell the searcher what this driver and others did."""
        for trial in news.asked:
            self.searcher.adopt(trial)
            self._budgets[trial.id] = trial.budget
            self._points.add(trial.point)
        # The searcher is told what the store gives back: exactly what `restore` would tell it.
        for trial in news.told:
            self._points.add(trial.point)
            self.searcher.tell(trial)
            if trial.id is not None:
                self._count(trial)

    def _report(self, news: News) -> None:
        if self._on_trial is not None:
            for trial in news.told:
                if trial.id is not None:
                    self._on_trial(trial)

    def _count(self, ended: Trial) -> None:
        self._ended += 1
        self._seconds += ended.seconds or 0.0
        self._reach(ended)
        self._budget += self._spent(ended)
        self._hopeful |= ended.status != Status.FAILED

    def _enough(self, stop: Stop, running: Collection[Trial]) -> bool:
        """Whether no further trial may begin: what is running counts as done, its seconds are not known yet."""
        if stop.trials is not None and self._ended + len(running) >= stop.trials:
            return True
        if stop.seconds is not None and self._seconds >= stop.seconds:
            return True
        return stop.budget is not None and self._budget + sum(map(self._spent, running)) >= stop.budget

    def _spent(self, trial: Trial) -> float:
        if trial.budget is None:
            return 1.0
        return trial.budget - (self._budgets.get(trial.continues) or 0.0 if trial.continues is not None else 0.0)

    def _reach(self, trial: Trial) -> None:
        before = self._reached.get(trial.continues, 0.0) if trial.continues is not None else 0.0
        self._reached[trial.id] = before + (trial.seconds or 0.0)

    def _settled(self, outcome: Outcome) -> Trial:
        """The trial as it is stored: one that lacks an objective has failed, and a continued one cost the difference only."""
        trial = outcome.trial
        if trial.complete:
            lacking = [o.name for o in self.objectives if not math.isfinite(trial.values.get(o.name, math.nan))]
            if lacking:
                trial = replace(trial, status=Status.FAILED, reason=f"`{lacking[0]}` has no finite value")
        if outcome.simulated and trial.continues is not None:
            seconds = max(0.0, (trial.seconds or 0.0) - self._reached.get(trial.continues, 0.0))
            trial = replace(trial, seconds=seconds)
        if not outcome.simulated:  # what it took to find it is part of what it cost
            trial = replace(trial, seconds=(trial.seconds or 0.0) + self._asking.pop(trial.id, 0.0))
        return trial

    def _ask(self) -> Trial | None:
        began = time.perf_counter()
        asked = self.searcher.ask(1)
        self.exhausted = not asked
        if not asked:
            return None
        trial = self._sharing.begin(asked[0])
        if trial is None:
            self.searcher.retract(asked[0])
            return None
        self._asking[trial.id] = time.perf_counter() - began
        self._points.add(trial.point)
        self._budgets[trial.id] = trial.budget
        return trial

    @property
    def ended(self) -> int:
        """How many trials that were asked for have ended, those of earlier runs and of other drivers included."""
        return self._ended

    @property
    def alone(self) -> bool:
        """Whether no other driver has worked on it at the same time."""
        return not self._sharing.met

    @property
    def seconds(self) -> float:
        """What the trials that have ended took, those of earlier runs included."""
        return self._seconds

    def trials(self) -> list[Trial]:
        """All trials stored so far."""
        return self.store.trials()

    def front(self, trials: Sequence[Trial] | None = None) -> Front[Trial]:
        """The non-dominated trials so far, or of these."""
        return Front.of(self.trials() if trials is None else trials, self.objectives, self.unpruned)

    def _end(self, outcome: Outcome) -> Trial:
        """Store a trial that has ended with all that came with it at once, tell the searcher."""
        extras = [t for t in outcome.extras if t.point not in self._points]
        settled = self._settled(outcome)
        news = self._sharing.finish(settled, extras, outcome.cache)
        self._tell(news)
        # Where another driver ended it first, what that one found counts.
        ended = next((t for t in news.told if t.id == settled.id), settled)
        notes = {"reason": ended.reason, "traceback": outcome.trace}
        self._note(
            "trial",
            number=ended.number,
            id=ended.id,
            key=ended.key,
            status=str(ended.status),
            values=dict(ended.values),
            extras=len(extras),
            **{name: note for name, note in notes.items() if note is not None},
        )
        self._report(news)
        return ended

    def _note(self, event: str, **fields: object) -> None:
        if self._log is not None:
            self._log.write(event, **fields)
