"""One architecture through all estimators: cheapest first, a violated bound stops the rest, failure is a state."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from secateur.architecture import Architecture
from secateur.errors import EvaluationFailure, SecateurError, disk_is_full
from secateur.estimators.base import Estimator, Evaluation
from secateur.objectives import Objective
from secateur.study.database import disk_full
from secateur.study.protocol import COMPLETE, FAILED, INFEASIBLE, CacheEntry, Extra

Cached = Callable[[str, str], tuple[Mapping[str, float], Mapping[str, float | str]] | None]


@dataclass
class Outcome:
    """What came of one architecture. `found` holds the values of others that came for free, by key, not yet completed."""

    status: str = COMPLETE
    values: dict[str, float] = field(default_factory=dict)
    details: dict[str, float | str] = field(default_factory=dict)
    reason: str | None = None
    trace: str | None = None
    cache: list[CacheEntry] = field(default_factory=list)
    found: dict[str, tuple[Architecture, dict[str, float]]] = field(default_factory=dict)


class Assessor:
    """Evaluates architectures with a fixed set of estimators against the bounds of objectives. Stores nothing."""

    def __init__(
        self,
        estimators: Sequence[Estimator],
        objectives: Sequence[Objective],
        unpruned: Mapping[str, float],
        cached: Cached,
        bounds: Sequence[Objective] = (),
    ) -> None:
        self.estimators = sorted(estimators, key=lambda e: e.cost)
        self.objectives = tuple(objectives)
        #: What must keep within bounds and is not optimised.
        self.bounds = tuple(bounds)
        self.unpruned = dict(unpruned)
        self._cached = cached

    def assess(self, architecture: Architecture, budget: float | None) -> Outcome:
        """Run the estimators in order. Raises SecateurError and KeyboardInterrupt only; all else is a failed outcome."""
        outcome = Outcome()
        for estimator in self.estimators:
            self._run(estimator, architecture, budget, outcome)
            if outcome.status == FAILED:
                return outcome
            broken = self._violated(outcome.values)
            if broken is not None:
                outcome.status, outcome.reason = INFEASIBLE, broken
                return outcome
        return outcome

    def extras(self, outcome: Outcome, budget: float | None, known: Callable[[str], bool]) -> list[Extra]:
        """The free results, completed by counting only: those that are new, have all objectives and keep the bounds."""
        extras = []
        for key, (architecture, values) in outcome.found.items():
            if known(key):
                continue
            whole = Outcome(values=dict(values))
            for estimator in self.estimators:
                if estimator.cost == 0 and whole.status == COMPLETE:
                    self._run(estimator, architecture, budget, whole)
            outcome.cache += whole.cache
            complete = whole.status == COMPLETE and all(o.name in whole.values for o in self.objectives)
            if complete and self._violated(whole.values) is None:
                extras.append(Extra(architecture, whole.values, whole.details, budget=budget))
        return extras

    def _run(self, estimator: Estimator, architecture: Architecture, budget: float | None, outcome: Outcome) -> None:
        """One estimator, or what the cache has of it, into the outcome."""
        name = fingerprint(estimator, budget)
        hit = self._cached(architecture.key, name)
        if hit is not None:
            outcome.values.update(hit[0])
            outcome.details.update(hit[1])
            return
        evaluation, outcome.trace = _evaluate(estimator, architecture, budget)
        fault = evaluation.failure if evaluation.failure is not None else _fault(evaluation.values, estimator.yields)
        for other, values in evaluation.extra:
            if _fault(values, estimator.yields) is None and other.key != architecture.key:
                numbers = {n: float(v) for n, v in values.items()}
                outcome.found.setdefault(other.key, (other, {}))[1].update(numbers)
                outcome.cache.append(CacheEntry(other.key, name, numbers))
        if fault is not None:
            outcome.status, outcome.reason = FAILED, fault
            return
        numbers = {n: float(v) for n, v in evaluation.values.items()}
        outcome.values.update(numbers)
        outcome.details.update(evaluation.details)
        outcome.cache.append(CacheEntry(architecture.key, name, numbers, evaluation.details))

    def _violated(self, values: Mapping[str, float]) -> str | None:
        broken = (objective.violated(values, self.unpruned) for objective in (*self.objectives, *self.bounds))
        return next((reason for reason in broken if reason is not None), None)


def fingerprint(estimator: Estimator, budget: float | None) -> str:
    """The estimator's fingerprint in the cache: a value of one budget is not that of another."""
    return estimator.fingerprint if budget is None else f"{estimator.fingerprint}@{budget!r}"


def _evaluate(estimator: Estimator, architecture: Architecture, budget: float | None) -> tuple[Evaluation, str | None]:
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
            raise disk_full(getattr(error, "filename", None) or type(estimator).__name__) from error
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
