"""Several estimators as one: their order, bounds, free results, failures, and what an evaluation cost."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from secateur.architecture import Architecture
from secateur.errors import BoundError, EvaluationFailure, StudyError
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.together import CacheEntry, Together, fingerprint
from secateur.objectives import Objective
from secateur.testing import toy_study as toys
from secateur.trial import Status, Trial


def named(name: str) -> Architecture:
    return Architecture.of("toy", {"name": name}, name)


def running(name: str = "a", budget: float | None = None) -> Trial:
    return Trial(3, named(name), Status.RUNNING, budget=budget, continues=1, number=7, started=5.0)


class Named(Estimator):
    """Yields what it is given; `calls` are all calls of all estimators, in order."""

    cost = 0

    def __init__(self, name: str, cost: int, found: Any = None, calls: list[tuple[str, str]] | None = None) -> None:
        self.yields, self.name, self.found = (name,), name, found
        self.cost = cost  # type: ignore[misc]
        self.calls = [] if calls is None else calls

    @property
    def fingerprint(self) -> str:
        return f"print of {self.name}"

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        (architecture,) = architectures
        self.calls.append((self.name, architecture.key))
        found = self.found(architecture) if callable(self.found) else self.found
        return [found if isinstance(found, Evaluation) else Evaluation({self.name: found})]


ERROR = (Objective("error"),)


def test_the_cheapest_comes_first_and_the_trial_keeps_what_it_is() -> None:
    calls: list[tuple[str, str]] = []
    estimators = [Named("latency", 2, 0.5, calls), Named("error", 1, 0.25, calls), Named("parameters", 0, 8, calls)]
    together = Together(estimators, ERROR)
    outcome = together.outcome(running())
    assert [name for name, _ in calls] == ["parameters", "error", "latency"]
    assert together.yields == {"parameters", "error", "latency"}
    trial = outcome.trial
    assert (trial.id, trial.number, trial.continues, trial.started) == (3, 7, 1, 5.0)
    assert trial.complete
    assert trial.values == {"parameters": 8.0, "error": 0.25, "latency": 0.5}
    assert type(trial.values["parameters"]) is float
    assert outcome.extras == ()
    # What is counted is quicker than a look-up: it is not kept.
    assert [(e.key, e.fingerprint, e.values) for e in outcome.cache] == [
        ("a", "print of error", {"error": 0.25}),
        ("a", "print of latency", {"latency": 0.5}),
    ]


@pytest.mark.parametrize("as_bound", [False, True])
def test_a_broken_bound_stops_the_rest(as_bound: bool) -> None:
    calls: list[tuple[str, str]] = []
    bounded = Objective.parse("parameters<=50%")
    objectives, bounds = (ERROR, (bounded,)) if as_bound else ((*ERROR, bounded), ())
    estimators = [Named("error", 1, 0.25, calls), Named("parameters", 0, lambda a: len(a.key), calls)]
    together = Together(estimators, objectives, bounds, {"parameters": 4.0})
    kept, broken = together.evaluate([named("aa"), named("aaa")])
    assert kept.complete
    assert (broken.status, broken.reason, broken.values) == ("infeasible", "parameters 3 > 2", {"parameters": 3.0})
    assert calls == [("parameters", "aa"), ("error", "aa"), ("parameters", "aaa")]
    assert together.violated({"parameters": 2.0}) is None
    assert together.violated({"parameters": 2.5}) == "parameters 2.5 > 2"
    assert together.violated({"error": 9.0}) is None


def test_many_are_evaluated_in_order() -> None:
    together = Together([Named("error", 1, lambda a: len(a.key))])
    trials = together.evaluate([named("aaa"), named("a")], budget=3.0)
    assert [(t.id, t.key, t.budget, t.values) for t in trials] == [
        (None, "aaa", 3.0, {"error": 3.0}),
        (None, "a", 3.0, {"error": 1.0}),
    ]
    assert together.evaluate([]) == []


def sweeping(*names: str, value: float = 0.5) -> Callable[[Architecture], Evaluation]:
    return lambda a: Evaluation({"error": 0.25}, extra=tuple((named(n), {"error": value}) for n in names))


def test_free_results_are_completed_by_counting() -> None:
    calls: list[tuple[str, str]] = []
    estimators = [
        Named("error", 1, sweeping("b", "bb", "bbb", "a"), calls),
        Named("parameters", 0, lambda a: len(a.key), calls),
    ]
    together = Together(estimators, (*ERROR, Objective.parse("parameters<=2")))
    outcome = together.outcome(running("a", budget=3.0))
    assert [(t.id, t.key, t.budget, t.origin, t.status, t.values) for t in outcome.extras] == [
        (None, "b", 3.0, "sweep", "complete", {"error": 0.5, "parameters": 1.0}),
        (None, "bb", 3.0, "sweep", "complete", {"error": 0.5, "parameters": 2.0}),  # `bbb` breaks the bound, `a` is the trial
    ]
    assert [key for name, key in calls if name == "error"] == ["a"]
    # All of them spare an evaluation later, whether they are wanted now or not.
    kept = [(e.key, e.fingerprint) for e in outcome.cache]
    assert kept == [(key, "print of error@3.0") for key in ("b", "bb", "bbb", "a")]
    declined = together.outcome(running("a", budget=3.0), extras=False)
    assert declined.extras == ()
    assert [(e.key, e.fingerprint) for e in declined.cache] == kept


@pytest.mark.parametrize(
    "estimators",
    [
        [Named("error", 1, sweeping("b", value=math.nan))],
        [Named("error", 1, sweeping("b")), Named("latency", 2, 0.5)],
        [Named("error", 1, sweeping("b")), Named("latency", 0, lambda a: 0.5 if a.key == "a" else math.inf)],
    ],
    ids=["no number", "not counted", "failing"],
)
def test_free_results_without_every_objective_are_dropped(estimators: list[Estimator]) -> None:
    together = Together(estimators, [Objective(e.yields[0]) for e in estimators])
    outcome = together.outcome(running())
    assert outcome.trial.complete
    assert outcome.extras == ()


def test_what_is_known_is_not_evaluated_again() -> None:
    calls: list[tuple[str, str]] = []
    estimators = [Named("error", 1, 0.25, calls), Named("parameters", 0, 8, calls)]
    known = {"print of error": CacheEntry("a", "print of error", {"error": 0.125}, {"metric": "accuracy"})}
    outcome = Together(estimators, ERROR).outcome(running(), known)
    assert calls == [("parameters", "a")]
    assert outcome.trial.values == {"parameters": 8.0, "error": 0.125}
    assert outcome.trial.details == {"metric": "accuracy"}
    assert outcome.cache == ()
    Together(estimators, ERROR).outcome(running(budget=3.0), known)
    assert calls[-1] == ("error", "a"), "a value of one budget was taken for that of another"
    assert fingerprint(estimators[0], None) == "print of error"
    assert fingerprint(estimators[0], 3.0) != fingerprint(estimators[0], 9.0)


def test_free_results_of_what_is_counted_are_not_kept() -> None:
    together = Together([Named("error", 0, sweeping("b"))], ERROR)
    outcome = together.outcome(running())
    assert [t.key for t in outcome.extras] == ["b"]
    assert outcome.cache == ()


def raising(error: BaseException) -> Callable[[Architecture], Any]:
    def found(architecture: Architecture) -> None:
        raise error

    return found


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (raising(EvaluationFailure("the loss diverged")), "the loss diverged"),
        (raising(EvaluationFailure()), "no reason was given"),
        (raising(RuntimeError("CUDA out of memory.\nTried")), "out of memory (CUDA out of memory. Tried)"),
        (raising(MemoryError()), "out of memory"),
        (raising(ZeroDivisionError("by zero")), "ZeroDivisionError: by zero"),
        (Evaluation({"error": math.nan}), "`error` is nan, not a finite number"),
        (Evaluation({"error": -math.inf}), "`error` is -inf, not a finite number"),
        (Evaluation({"error": 0.5, "further": math.inf}), "`further` is inf, not a finite number"),
        (Evaluation(), "`error` has no value"),
        (Evaluation({"error": 0.5}, failure="gave up"), "gave up"),
    ],
)
def test_failure_is_a_state(found: Any, reason: str) -> None:
    calls: list[tuple[str, str]] = []
    together = Together([Named("latency", 2, 1.0, calls), Named("error", 1, found, calls), Named("parameters", 0, 8, calls)])
    outcome = together.outcome(running())
    assert (outcome.trial.status, outcome.trial.reason) == ("failed", reason)
    assert outcome.trial.values == {"parameters": 8.0}
    assert [name for name, _ in calls] == ["parameters", "error"]
    assert outcome.cache == ()
    assert ("Traceback" in (outcome.trace or "")) == reason.startswith("ZeroDivision")
    assert together.evaluate([named("b")])[0].reason == reason


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BoundError("cannot be")])
def test_what_the_user_can_mend_is_raised(error: BaseException) -> None:
    with pytest.raises(type(error)):
        Together([Named("error", 1, raising(error))]).outcome(running())


@pytest.mark.parametrize(("file", "name"), [("scratch.bin", "scratch.bin"), (None, "Named")])
def test_a_full_disk_is_raised(file: str | None, name: str) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", file)
    with pytest.raises(StudyError, match=f"`{name}`: the disk is full"):
        Together([Named("error", 1, raising(full))]).outcome(running())


def test_seconds_are_simulated_where_an_estimator_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([100.0, 103.5, 0.0, 1.0])
    monkeypatch.setattr("secateur.estimators.together.time.perf_counter", lambda: next(ticks))
    clocked = Together([Named("error", 1, 0.5), Named("parameters", 0, 8)]).outcome(running()).trial
    assert clocked.seconds == 3.5
    curve = ((1.0, {"error": 0.75}), (3.0, {"error": 0.5}))
    trained = Named("error", 3, Evaluation({"error": 0.5}, curve=curve, seconds=40.0))
    looked_up = Named("latency", 2, Evaluation({"latency": 1.0}, curve=((1.0, {"latency": 1.0}),), seconds=2.0))
    simulated = Together([trained, looked_up, Named("parameters", 0, 8)]).outcome(running()).trial
    assert simulated.seconds == 42.0
    # One curve a trial: that of the cheapest which has one.
    assert simulated.curve == ((1.0, {"latency": 1.0}),)
    assert Together([trained]).evaluate([named("a")])[0].curve == curve


def test_a_failed_training_has_cost_its_seconds_too() -> None:
    failed = Together([Named("error", 3, Evaluation(failure="diverged", seconds=7.0))]).outcome(running()).trial
    assert (failed.status, failed.seconds) == ("failed", 7.0)


def test_the_patient_ask_on_after_a_failure() -> None:
    class Broken(Estimator):
        yields, cost, fingerprint = ("latency",), 1, "broken"

        def evaluate(self, architectures: Any, budget: float | None = None) -> list[Evaluation]:
            return [Evaluation(failure="no clock") for _ in architectures]

    class Sound(Broken):
        yields, cost, fingerprint = ("memory",), 2, "sound"

        def evaluate(self, architectures: Any, budget: float | None = None) -> list[Evaluation]:
            return [Evaluation({"memory": 5.0}) for _ in architectures]

    architecture = toys.SPACE.largest()
    (hasty,), (patient,) = (Together([Broken(), Sound()], patient=p).evaluate([architecture]) for p in (False, True))
    assert (hasty.status, hasty.reason, hasty.values) == ("failed", "no clock", {})
    assert (patient.status, patient.reason, patient.values) == ("failed", "no clock", {"memory": 5.0})
