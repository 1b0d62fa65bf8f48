"""The study: ask, evaluate, store, tell, until enough trials have ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from secateur.errors import ConfigurationError, StudyError
from secateur.estimators.base import Estimator
from secateur.objectives import Objective
from secateur.search.base import Proposal, Searcher
from secateur.study.assessment import Assessor
from secateur.study.front import Front, Member
from secateur.study.log import RunLog
from secateur.study.protocol import FAILED, RUNNING, Trial
from secateur.study.store import Store

#: So many failures and nothing else at the start of a run: something is broken, and more trials would not mend it.
HOPELESS = 10


class Study:
    """One searcher, one store, one process.

    A searcher that is new and a store that is not: the searcher is restored from it, and trials that were running when the last
    process ended are evaluated first. With deterministic estimators the trials are then those of a run that was never stopped.
    `on_trial` is called with each trial that ends, not with the extras that come with it. `unpruned` holds the whole network's
    values, which relative bounds refer to. `bounds` are kept and not optimised.
    """

    def __init__(
        self,
        store: Store,
        searcher: Searcher,
        estimators: Sequence[Estimator],
        objectives: Sequence[Objective],
        unpruned: Mapping[str, float],
        *,
        bounds: Sequence[Objective] = (),
        log: RunLog | None = None,
        on_trial: Callable[[Trial], None] | None = None,
    ) -> None:
        yielded = {name for estimator in estimators for name in estimator.yields}
        faults = [f"no estimator yields the objective `{o.name}`." for o in objectives if o.name not in yielded]
        faults += [f"no estimator yields the bounded `{b.name}`." for b in bounds if b.name not in yielded]
        if not objectives:
            faults.append("a study needs at least one objective.")
        if faults:
            raise ConfigurationError(faults)
        self.store = store
        self.searcher = searcher
        self.objectives = tuple(objectives)
        self.unpruned = dict(unpruned)
        #: Whether the searcher found nothing new to propose.
        self.exhausted = False
        self._assessor = Assessor(estimators, objectives, unpruned, store.cached, bounds)
        self._log = log
        self._on_trial = on_trial
        trials = store.trials()
        # What was added beside the search (polished networks) does not make an architecture known to it.
        self._keys = {t.architecture.key for t in trials if t.id is not None or t.told is not None}
        asked = [t for t in trials if t.id is not None]
        self._ended = sum(t.status != RUNNING for t in asked)
        self._hopeful = any(t.status not in (RUNNING, FAILED) for t in asked)
        history = sorted((t for t in trials if t.told is not None), key=lambda t: t.told or 0)
        pending = [t for t in asked if t.status == RUNNING]
        if history or pending:
            searcher.restore([t.result() for t in history], [t.proposal() for t in pending])
            self._note("resumed", ended=self._ended, running=len(pending))

    def run(self, trials: int) -> None:
        """Go on until `trials` asked trials have ended, those of earlier runs included, or the searcher is exhausted.

        Raises StudyError where the first trials all fail. Ctrl-C and errors of the user's leave the trial under way as running:
        the next run evaluates it first.
        """
        failures = 0
        pending = self.store.running()
        for trial in pending:
            self.store.restart(trial.number)
        while self._ended < trials:
            if pending:
                trial = pending.pop(0)
                number, proposal = trial.number, trial.proposal()
            else:
                proposals = self.searcher.ask(1)
                if not proposals:
                    self.exhausted = True
                    self._note("exhausted", ended=self._ended, wanted=trials)
                    return
                proposal = proposals[0]
                number = self.store.begin(proposal)
                self._keys.add(proposal.architecture.key)
            ended = self._evaluate(number, proposal)
            failures = failures + 1 if ended.status == FAILED else 0
            self._hopeful |= ended.status != FAILED
            if failures >= HOPELESS and not self._hopeful:
                raise StudyError(f"the first {failures} trials all failed, so the study stops. The last reason: {ended.reason}")

    def trials(self) -> list[Trial]:
        """All trials stored so far."""
        return self.store.trials()

    def front(self) -> Front[Member]:
        """The non-dominated trials so far."""
        return Front.of(self.trials(), self.objectives, self.unpruned)

    def _evaluate(self, number: int, proposal: Proposal) -> Trial:
        """Evaluate a begun trial, store it with all that came with it at once, tell the searcher."""
        outcome = self._assessor.assess(proposal.architecture, proposal.budget)
        wanted = self.searcher.takes_extra
        extras = self._assessor.extras(outcome, proposal.budget, self._keys.__contains__) if wanted else []
        told = self.store.finish(
            number, outcome.status, outcome.values, outcome.details, outcome.reason, extras=extras, cache=outcome.cache
        )
        # The searcher is told what the store gives back: exactly what `restore` would tell it.
        for trial in told:
            self._keys.add(trial.architecture.key)
            self.searcher.tell(trial.result())
        ended = told[0]
        self._ended += 1
        fields = {"number": ended.number, "id": ended.id, "key": ended.architecture.key, "status": ended.status}
        notes = {"reason": ended.reason, "traceback": outcome.trace}
        notes = {name: note for name, note in notes.items() if note is not None}
        self._note("trial", **fields, values=dict(ended.values), extras=len(extras), **notes)
        if self._on_trial is not None:
            self._on_trial(ended)
        return ended

    def _note(self, event: str, **fields: object) -> None:
        if self._log is not None:
            self._log.write(event, **fields)
