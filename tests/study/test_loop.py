"""The loop: what becomes of values, failures, bounds and free results."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secateur.architecture import Architecture
from secateur.errors import BoundError, ConfigurationError, EvaluationFailure, StudyError
from secateur.estimators.base import Evaluation
from secateur.estimators.together import CacheEntry
from secateur.objectives import Objective
from secateur.rng import Generator
from secateur.study import Inline, RunLog, Stop, Store
from secateur.study.memory_store import MemoryStore
from secateur.testing import toy_study as toys
from secateur.testing.toy_study import read_log
from secateur.trial import POLISH, Status, Trial


@pytest.fixture
def store() -> Store:
    return MemoryStore()


def asked(store: Store) -> list[Any]:
    return [t for t in store.trials() if t.id is not None]


def test_trials_are_asked_stored_and_told(store: Store) -> None:
    seen = []
    study = toys.study(store, toys.Random, on_trial=seen.append)
    study.run(Stop(trials=8))
    trials = asked(store)
    assert [t.id for t in trials] == list(range(8))
    assert seen == trials
    assert not study.exhausted
    for trial in store.trials():
        assert trial.status == "complete"
        assert trial.values["error"] == toys.Error.error(trial.architecture)
        assert set(trial.values) == {"error", "parameters", "body_parameters"}
    assert trials[0].details == {"batches": 3.0, "metric": "accuracy"}
    assert study.searcher.history == sorted(store.trials(), key=lambda t: t.told)
    study.run(Stop(trials=8))
    assert len(asked(store)) == 8
    study.run(Stop(trials=10))
    assert len(asked(store)) == 10
    assert len(study.front()) >= 1
    assert study.trials() == store.trials()


def test_free_results_are_stored_once_and_not_counted(store: Store) -> None:
    study = toys.study(store, toys.Random)
    study.run(Stop(trials=12))
    trials = store.trials()
    extras = [t for t in trials if t.id is None]
    assert len(extras) > 3
    assert {t.origin for t in extras} == {"sweep"}
    keys = [t.architecture.key for t in trials]
    assert len(keys) == len(set(keys))
    # told after the trial that they came with: the told order is the order of insertion here
    assert [t.told for t in trials] == list(range(len(trials)))


def test_free_results_that_break_a_bound_are_dropped(store: Store) -> None:
    objectives = (Objective.parse("error"), Objective.parse("parameters>=50%"))
    toys.study(store, toys.Random, objectives=objectives).run(Stop(trials=12))
    complete = [t for t in store.trials() if t.status == "complete"]
    infeasible = [t for t in store.trials() if t.status == "infeasible"]
    assert complete
    assert all(t.values["parameters"] >= 500 for t in complete)
    assert infeasible
    assert all(t.id is not None for t in infeasible)


def test_a_searcher_may_decline_free_results(store: Store) -> None:
    error = toys.Error()
    study = toys.study(store, toys.Decliner, error)
    study.run(Stop(trials=20))
    assert len(store.trials()) == 20
    # but what is known is not computed again
    assert len(error.calls) < 20
    assert len(set(error.calls)) == len(error.calls)


def test_what_is_known_spares_evaluations(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (p.architecture for p in toys.Random(toys.SPACE, toys.OBJECTIVES, seed=3).ask(2))
    known = {first.key: {"error": CacheEntry(first.key, "error", {"error": 0.25}, {"from": "cache"})}}
    monkeypatch.setattr(store, "known", lambda key: known.get(key, {}))
    error = toys.Error()
    toys.study(store, toys.Random, error).run(Stop(trials=2))
    assert error.calls == [second.key]
    assert asked(store)[0].values["error"] == 0.25
    assert asked(store)[0].details["from"] == "cache"
    monkeypatch.undo()
    assert set(store.known(second.key)) == {"error"}, "what is counted is not kept"
    assert store.known(first.key) == {}


def test_a_budgets_values_are_its_own(store: Store) -> None:
    class Twice(toys.Random):
        def _next_trial(self, rng: Generator) -> Trial:
            return Trial(self.asked, toys.SPACE.largest(), Status.RUNNING, budget=1.0 + self.asked)

    error = toys.Error()
    toys.study(store, Twice, error).run(Stop(trials=2))
    assert len(error.calls) == 2
    assert [t.budget for t in asked(store)] == [1.0, 2.0]


def test_a_bound_stops_the_dearer_estimators(store: Store) -> None:
    error = toys.Error()
    objectives = (Objective.parse("error"), Objective.parse("parameters<=50%"))
    study = toys.study(store, toys.Random, error, objectives=objectives)
    study.run(Stop(trials=15))
    small = [t for t in asked(store) if t.status == "complete"]
    large = [t for t in asked(store) if t.status == "infeasible"]
    assert small
    assert large
    assert all(t.reason == f"parameters {t.values['parameters']:g} > 500" and "error" not in t.values for t in large)
    assert not {t.architecture.key for t in large} & set(error.calls)
    assert {r.status for r in study.searcher.history} == {"complete", "infeasible"}


def raising(error: BaseException) -> Callable[[Architecture], Any]:
    def before(architecture: Architecture) -> None:
        raise error

    return before


def returning(evaluation: Evaluation) -> Callable[[Architecture], Any]:
    return lambda architecture: evaluation


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (raising(EvaluationFailure("the loss diverged")), "the loss diverged"),
        (raising(ZeroDivisionError("division by zero")), "ZeroDivisionError: division by zero"),
        (returning(Evaluation({"error": math.nan})), "`error` is nan, not a finite number"),
    ],
)
def test_failure_is_a_state(tmp_path: Path, before: Callable[[Architecture], Any], reason: str) -> None:
    calls = 0

    def sometimes(architecture: Architecture) -> Any:
        nonlocal calls
        calls += 1
        return before(architecture) if calls == 2 else None

    store = MemoryStore()
    with RunLog(tmp_path / "log.jsonl") as log:
        study = toys.study(store, toys.Random, toys.Error(sweep=False, before=sometimes), log=log)
        study.run(Stop(trials=4))
        assert [t.status for t in asked(store)] == ["complete", "failed", "complete", "complete"]
        failed = asked(store)[1]
        assert failed.reason == reason
        assert "error" not in failed.values
        assert store.known(failed.key) == {}
        assert [r.status for r in study.searcher.history] == ["complete", "failed", "complete", "complete"]
        assert len(study.front().pool) == 3
    events = [e for e in read_log(tmp_path / "log.jsonl") if e["event"] == "trial"]
    assert [e.get("reason") for e in events] == [None, reason, None, None]
    assert ("Traceback" in events[1].get("traceback", "")) == reason.startswith("ZeroDivision")


def test_ten_failures_and_nothing_else_end_the_study(store: Store) -> None:
    broken = toys.Error(before=raising(EvaluationFailure("no data")))
    with pytest.raises(StudyError, match=r"first 10 trials all failed, so the study stops. The last reason: no data"):
        toys.study(store, toys.Random, broken).run(Stop(trials=50))
    assert len(store.trials()) == 10
    with pytest.raises(StudyError, match="first 10 trials"):  # a resumed run tries again
        toys.study(store, toys.Random, broken).run(Stop(trials=50))
    assert len(asked(store)) == 20
    toys.study(store, toys.Random).run(Stop(trials=21))  # mended
    toys.study(store, toys.Random, broken).run(Stop(trials=40))  # one success: no longer hopeless
    assert len(asked(store)) == 40


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BoundError("cannot be"), StudyError("the disk is full")])
def test_interruptions_leave_the_trial_running(store: Store, error: BaseException) -> None:
    calls = 0

    def third(architecture: Architecture) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise error

    estimator = toys.Error(before=third)
    study = toys.study(store, error=estimator)
    with pytest.raises(type(error)):
        study.run(Stop(trials=5))
    assert [t.status for t in asked(store)][-1] == "running"
    running = asked(store)[-1]
    study.run(Stop(trials=5))  # the same object goes on with the trial under way
    assert [t.status for t in asked(store)] == ["complete"] * 5
    assert asked(store)[2].number == running.number
    assert asked(store)[2].started > running.started


def test_a_full_disk_in_an_estimator_stops_the_study(store: Store) -> None:
    full = toys.Error(before=raising(OSError(errno.ENOSPC, "No space left on device", "scratch.bin")))
    with pytest.raises(StudyError, match=r"`scratch\.bin`: the disk is full"):
        toys.study(store, toys.Random, full).run(Stop(trials=3))
    assert [t.status for t in store.trials()] == ["running"]


def test_an_exhausted_searcher_ends_the_run(store: Store, tmp_path: Path) -> None:
    with RunLog(tmp_path / "log.jsonl") as log:
        study = toys.study(store, toys.Random, log=log)
        study.run(Stop(trials=10_000))
    assert study.exhausted
    (event,) = [e for e in read_log(tmp_path / "log.jsonl") if e["event"] == "exhausted"]
    assert event["wanted"] == 10_000
    assert event["ended"] == len(asked(store))
    assert len({t.architecture.key for t in store.trials()}) == len(store.trials())


def test_objectives_need_estimators(store: Store) -> None:
    with pytest.raises(ConfigurationError, match=r"no estimator yields the objective `latency`\.; .*`memory`"):
        toys.study(store, objectives=(Objective("error"), Objective("latency"), Objective("memory")))
    with pytest.raises(ConfigurationError, match="at least one objective"):
        toys.study(store, objectives=())


def test_polished_results_do_not_concern_the_search(store: Store) -> None:
    study = toys.study(store, toys.Random)
    study.run(Stop(trials=3))
    told = len(study.searcher.history)
    store.add(Trial(None, toys.SPACE.largest(), values={"error": 0.0, "parameters": 1.0}, origin=POLISH))
    again = toys.study(store, toys.Random)
    assert len(again.searcher.history) == told
    assert all(m.values["error"] > 0 for m in again.front())


def test_what_is_bounded_need_not_be_optimised(store: Store) -> None:
    study = toys.study(store, toys.Random, objectives=[Objective.parse("error")], bounds=[Objective.parse("parameters<=50%")])
    study.run(Stop(trials=12))
    statuses = {t.status: t for t in asked(store)}
    assert set(statuses) == {"complete", "infeasible"}
    assert all(t.values["parameters"] <= 500 for t in store.trials() if t.status == "complete")
    assert "error" not in statuses["infeasible"].values  # found by counting: nothing dear was evaluated


def test_a_bounded_quantity_needs_an_estimator(store: Store) -> None:
    with pytest.raises(ConfigurationError, match="bounded `memory`"):
        toys.study(store, toys.Random, bounds=[Objective.parse("memory<=1MB")])


def test_an_executor_has_estimators_of_its_own(store: Store) -> None:
    executor = Inline(toys.together())
    study = toys.study(store, executor=executor, objectives=toys.OBJECTIVES)
    study.run(Stop(trials=4))
    whole = MemoryStore()
    toys.study(whole).run(Stop(trials=4))
    assert toys.story(store) == toys.story(whole)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "say when the study should stop: give `trials`, `seconds` or `budget`"),
        ({"trials": -1}, "`trials` must not be negative, got -1"),
        ({"seconds": -0.5}, "`seconds` must not be negative, got -0.5"),
        ({"budget": -2.0, "trials": -3}, "`trials` must not be negative, got -3.; `budget` must not be negative, got -2.0"),
    ],
)
def test_a_study_must_end(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Stop(**limits)


def test_nothing_is_done_where_nothing_may_be(store: Store) -> None:
    for stop in (Stop(trials=0), Stop(seconds=0.0), Stop(budget=0.0), Stop(trials=5, seconds=0)):
        study = toys.study(store)
        study.run(stop)
        assert store.trials() == []
        assert not study.exhausted
