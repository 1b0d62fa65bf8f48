"""Several estimators as one: cheapest first, a violated bound stops the rest, failure is a state. Stores nothing."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from secateur.architecture import Architecture
from secateur.errors import EvaluationFailure, SecateurError, StudyError, disk_is_full
from secateur.estimators.base import Estimator, Evaluation
from secateur.objectives import Objective
from secateur.trial import SWEEP, Curve, Status, Trial


@dataclass(frozen=True)
class CacheEntry:
    """What one estimator found of one architecture: `fingerprint` says what the values hold for."""

    key: str
    fingerprint: str
    values: Mapping[str, float]
    details: Mapping[str, float | str] = field(default_factory=dict)


#: Fingerprint → what is known of an architecture already.
Known = Mapping[str, CacheEntry]


@dataclass(frozen=True)
class Outcome:
    """A trial that has ended, results of other architectures that came with it, and what is worth keeping.

    `trace` is the traceback of an error that nobody foresaw. `simulated`: the trial's seconds are an estimator's, not those of
    a clock, and count from the start of a training.
    """

    trial: Trial
    extras: tuple[Trial, ...] = ()
    cache: tuple[CacheEntry, ...] = ()
    trace: str | None = None
    simulated: bool = False


@dataclass
class _Gathered:
    """What the estimators have said so far of one architecture."""

    status: str = Status.COMPLETE
    values: dict[str, float] = field(default_factory=dict)
    details: dict[str, float | str] = field(default_factory=dict)
    reason: str | None = None
    trace: str | None = None
    curve: Curve = ()
    seconds: float | None = None
    cache: list[CacheEntry] = field(default_factory=list)
    #: Values of others that came for free, by key.
    found: dict[str, tuple[Architecture, dict[str, float]]] = field(default_factory=dict)


class Together:
    """Evaluates architectures with a fixed set of estimators against the bounds of objectives.

    `bounds` are kept and not optimised; relative ones refer to the values of `unpruned`. With `patient`, one that fails does
    not keep the others from being asked: the trial has failed, with the values that there are.
    """

    def __init__(
        self,
        estimators: Sequence[Estimator],
        objectives: Sequence[Objective] = (),
        bounds: Sequence[Objective] = (),
        unpruned: Mapping[str, float] | None = None,
        *,
        patient: bool = False,
    ) -> None:
        self.patient = patient
        self.estimators = sorted(estimators, key=lambda e: e.cost)
        self.objectives = tuple(objectives)
        self.bounds = tuple(bounds)
        self.unpruned = dict(unpruned or {})

    @property
    def yields(self) -> set[str]:
        """The names of all values there are."""
        return {name for estimator in self.estimators for name in estimator.yields}

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Trial]:
        """Ended trials of the architectures, in order."""
        return [self.outcome(Trial(None, a, Status.RUNNING, budget=budget)).trial for a in architectures]

    def outcome(self, trial: Trial, known: Known | None = None, extras: bool = True) -> Outcome:
        """Run the estimators in order. Raises SecateurError and KeyboardInterrupt only; all else is a failed trial.

        `extras`: whether results that come for free are wanted. They are completed by counting only: those that have all
        objectives and keep the bounds.
        """
        began = time.perf_counter()
        gathered = _Gathered()
        for estimator in self.estimators:
            self._run(estimator, trial.architecture, trial.budget, gathered, known or {})
            if gathered.status == Status.FAILED and not self.patient:
                break
            broken = self.violated(gathered.values)
            if broken is not None:
                gathered.status, gathered.reason = Status.INFEASIBLE, broken
                break
        free = self._extras(gathered, trial.budget) if extras else ()
        ended = replace(
            trial,
            status=gathered.status,
            values=gathered.values,
            details=gathered.details,
            reason=gathered.reason,
            curve=gathered.curve,
            seconds=time.perf_counter() - began if gathered.seconds is None else gathered.seconds,
        )
        return Outcome(ended, free, tuple(gathered.cache), gathered.trace, gathered.seconds is not None)

    def violated(self, values: Mapping[str, float]) -> str | None:
        """The first bound that these values break, in a few words, or None."""
        broken = (objective.violated(values, self.unpruned) for objective in (*self.objectives, *self.bounds))
        return next((reason for reason in broken if reason is not None), None)

    def _extras(self, gathered: _Gathered, budget: float | None) -> tuple[Trial, ...]:
        found = []
        for architecture, values in gathered.found.values():
            whole = _Gathered(values=dict(values))
            for estimator in self.estimators:
                if estimator.cost == 0 and whole.status == Status.COMPLETE:
                    self._run(estimator, architecture, budget, whole, {})
            complete = whole.status == Status.COMPLETE and all(o.name in whole.values for o in self.objectives)
            if complete and self.violated(whole.values) is None:
                found.append(Trial(None, architecture, values=whole.values, budget=budget, origin=SWEEP, details=whole.details))
        return tuple(found)

    def _run(
        self, estimator: Estimator, architecture: Architecture, budget: float | None, gathered: _Gathered, known: Known
    ) -> None:
        """One estimator, or what is known of it, into what was gathered."""
        counted = estimator.cost == 0  # quicker than any look-up
        name = "" if counted else fingerprint(estimator, budget)
        hit = known.get(name)
        if hit is not None:
            gathered.values.update(hit.values)
            gathered.details.update(hit.details)
            return
        evaluation, gathered.trace = _evaluated(estimator, architecture, budget)
        fault = evaluation.failure if evaluation.failure is not None else _fault(evaluation.values, estimator.yields)
        for other, values in evaluation.extra:
            if _fault(values, estimator.yields) is None and other.key != architecture.key:
                numbers = {n: float(v) for n, v in values.items()}
                gathered.found.setdefault(other.key, (other, {}))[1].update(numbers)
                if not counted:
                    gathered.cache.append(CacheEntry(other.key, name, numbers))
        if evaluation.seconds is not None:
            gathered.seconds = (gathered.seconds or 0.0) + evaluation.seconds
        if fault is not None:
            gathered.reason = fault if gathered.reason is None else f"{gathered.reason}; {fault}"
            gathered.status = Status.FAILED
            return
        numbers = {n: float(v) for n, v in evaluation.values.items()}
        gathered.values.update(numbers)
        gathered.details.update(evaluation.details)
        gathered.curve = gathered.curve or evaluation.curve
        if not counted:
            gathered.cache.append(CacheEntry(architecture.key, name, numbers, evaluation.details))


def fingerprint(estimator: Estimator, budget: float | None) -> str:
    """The estimator's fingerprint in a cache: a value of one budget is not that of another."""
    return estimator.fingerprint if budget is None else f"{estimator.fingerprint}@{budget!r}"


def _evaluated(estimator: Estimator, architecture: Architecture, budget: float | None) -> tuple[Evaluation, str | None]:
    """The evaluation, failed where the estimator raised, and the traceback of what nobody expected."""
    try:
        (evaluation,) = estimator.evaluate([architecture], budget)
        return evaluation, None
    except SecateurError:
        raise
    except EvaluationFailure as failure:
        return Evaluation(failure=str(failure) or "no reason was given"), None
    except Exception as error:
        if disk_is_full(error):
            where = getattr(error, "filename", None) or type(estimator).__name__
            raise StudyError(f"`{where}`: the disk is full. Nothing stored is lost: free some space, then resume.") from error
        text = " ".join(str(error).split())
        if isinstance(error, MemoryError) or "out of memory" in text.lower():
            return Evaluation(failure=f"out of memory ({text})" if text else "out of memory"), None
        return Evaluation(failure=f"{type(error).__name__}: {text}"), traceback.format_exc()


def _fault(values: Mapping[str, float], names: Sequence[str]) -> str | None:
    """Why these are not the finite numbers that the estimator promises, or None."""
    for name in names:
        if name not in values:
            return f"`{name}` has no value"
    for name, value in values.items():
        if not math.isfinite(value):
            return f"`{name}` is {float(value)}, not a finite number"
    return None
