"""Budgets, curves and clocks: a multi-fidelity search through a study, stopped and resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from secateur.architecture import Architecture
from secateur.estimators.base import Evaluation
from secateur.rng import Generator
from secateur.study import Stop, Store, create_store, open_store
from secateur.study.memory_store import MemoryStore
from secateur.testing import toy_study as toys
from secateur.trial import Status, Trial


def asked(store: Store) -> list[Trial]:
    return [t for t in store.trials() if t.id is not None]


@pytest.fixture
def halved() -> Store:
    store = MemoryStore()
    toys.study(store, toys.Halving, toys.Trained()).run(Stop(trials=40))
    return store


def test_trials_go_on_at_larger_budgets(halved: Store) -> None:
    trials = {t.id: t for t in asked(halved)}
    counts = [sum(t.budget == budget for t in trials.values()) for budget in toys.Halving.rungs]
    assert counts[0] > counts[1] > counts[2] > 0
    for trial in trials.values():
        if trial.budget == 1.0:
            assert trial.continues is None
        else:
            before = trials[trial.continues]
            assert (before.key, before.budget) == (trial.key, trial.budget / 3)
    points = [t.point for t in trials.values()]
    assert len(set(points)) == len(points)
    assert len({t.key for t in trials.values()}) < len(points), "no network was seen at two budgets"


def test_a_multi_fidelity_study_resumes_exactly(halved: Store, tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db") as store:
        for trials in range(1, 41, 3):
            toys.study(store, toys.Halving, toys.Trained()).run(Stop(trials=trials))
    with open_store(tmp_path / "s.db") as store:
        assert toys.story(store, seconds=True) == toys.story(halved, seconds=True)


def test_restore_keeps_budgets_seen_and_pending(halved: Store) -> None:
    going = toys.Halving(toys.SPACE, toys.OBJECTIVES, seed=3)
    going.restore(sorted(halved.trials(), key=lambda t: t.told or 0))
    waiting = going.ask(7)
    going.tell(replace(waiting[3], status=Status.COMPLETE, values={"error": 0.5, "parameters": 9.0}))
    resumed = toys.Halving(toys.SPACE, toys.OBJECTIVES, seed=3)
    resumed.restore(list(going.history), waiting[:3] + waiting[4:])
    assert resumed.seen == going.seen
    assert {(t.key, t.budget) for t in waiting} <= resumed.seen
    assert resumed.pending == going.pending
    assert {t.budget for t in resumed.pending.values()} >= {1.0}
    assert resumed.front() == going.front()
    assert resumed.ask(5) == going.ask(5)


class Stubborn(toys.Random):
    """One network at budget 1, then at 9."""

    def _next_trial(self, rng: Generator) -> Trial | None:
        if self.asked == 2:
            return None
        return Trial(self.asked, toys.SPACE.largest(), Status.RUNNING, budget=(1.0, 9.0)[self.asked])


class Overfitted(toys.Trained):
    """The error grows with training."""

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [Evaluation({"error": 0.01 if budget == 1.0 else 0.5}) for _ in architectures]


def test_a_better_value_at_a_smaller_budget_does_not_survive() -> None:
    store = MemoryStore()
    study = toys.study(store, Stubborn, Overfitted())
    study.run(Stop(trials=1))
    assert [t.values["error"] for t in study.front()] == [0.01]
    assert [t.values["error"] for t in study.searcher.front()] == [0.01]
    study.run(Stop(trials=5))
    assert study.exhausted
    assert [(t.budget, t.values["error"]) for t in study.front()] == [(9.0, 0.5)]
    assert [(t.budget, t.values["error"]) for t in study.searcher.front()] == [(9.0, 0.5)]
    assert [t.values["error"] for t in study.searcher.front(1.0)] == [0.01]
    assert [t.values["error"] for t in study.searcher.complete(1.0)] == [0.01]
    largest = toys.SPACE.largest().key
    assert study.searcher.seen == {(largest, 1.0), (largest, 9.0)}
    resumed = toys.study(store, Stubborn, Overfitted())
    assert resumed.searcher.front() == study.searcher.front()
    assert resumed.front().members == study.front().members


def test_curves_and_simulated_seconds_are_stored_with_the_trial(tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db") as store:
        study = toys.study(store, toys.Halving, toys.Trained())
        study.run(Stop(trials=12))
        told = study.searcher.history
    with open_store(tmp_path / "s.db") as store:
        trials = asked(store)
        assert trials == sorted(told, key=lambda t: t.id)
    assert max(t.budget for t in trials) == 9.0
    for trial in trials:
        before = trials[trial.continues].budget if trial.continues is not None else 0.0
        assert trial.seconds == 10.0 * (trial.budget - before), "a continued trial costs the difference"
        assert [budget for budget, _ in trial.curve] == [float(e) for e in range(1, int(trial.budget) + 1)]
        assert trial.curve[-1][1] == {"error": trial.values["error"]}


def test_seconds_are_those_of_the_clock_where_nobody_knows_better() -> None:
    store = MemoryStore()
    toys.study(store).run(Stop(trials=3))
    assert all(t.seconds is not None and 0 <= t.seconds < 60 for t in asked(store))
    assert all(t.curve == () for t in store.trials())


@pytest.mark.parametrize("parts", [1, 4])
def test_stop_counts_simulated_seconds(tmp_path: Path, parts: int) -> None:
    with create_store(tmp_path / "s.db") as store:
        for part in range(1, parts + 1):
            toys.study(store, toys.Halving, toys.Trained()).run(Stop(seconds=300 * part / parts))
        trials = asked(store)
    spent = [t.seconds or 0.0 for t in trials]
    assert sum(spent) >= 300
    assert sum(spent[:-1]) < 300, "a trial began although the seconds were spent"
    whole = MemoryStore()
    toys.study(whole, toys.Halving, toys.Trained()).run(Stop(seconds=300))
    assert [t.point for t in asked(whole)] == [t.point for t in trials]


@pytest.mark.parametrize("parts", [1, 5])
def test_stop_counts_what_continued_trials_add(tmp_path: Path, parts: int) -> None:
    def added(trial: Trial) -> float:
        return trial.budget - (by_id[trial.continues].budget if trial.continues is not None else 0.0)

    with create_store(tmp_path / "s.db") as store:
        for part in range(1, parts + 1):
            toys.study(store, toys.Halving, toys.Trained()).run(Stop(budget=30 * part / parts))
        trials = asked(store)
    by_id = {t.id: t for t in trials}
    spent = [added(t) for t in trials]
    assert sum(t.budget for t in trials) > sum(spent) >= 30
    assert sum(spent[:-1]) < 30


def test_a_trial_without_a_budget_counts_as_one() -> None:
    store = MemoryStore()
    toys.study(store).run(Stop(budget=4))
    assert len(asked(store)) == 4
    toys.study(store).run(Stop(budget=6.5))
    assert len(asked(store)) == 7


def test_the_first_limit_ends_it() -> None:
    limits = [
        (Stop(trials=3, seconds=1e9, budget=1e9), 3),
        (Stop(trials=99, seconds=20), 2),
        (Stop(trials=99, budget=5), 4),  # three at budget 1, and the best of them goes on to 3
    ]
    for stop, trials in limits:
        store = MemoryStore()
        toys.study(store, toys.Halving, toys.Trained()).run(stop)
        assert len(asked(store)) == trials


def test_free_results_have_the_budget_of_their_trial() -> None:
    store = MemoryStore()
    toys.study(store, toys.Halving, toys.Error()).run(Stop(trials=20))
    extras = [t for t in store.trials() if t.id is None]
    assert extras
    assert {t.budget for t in extras} <= set(toys.Halving.rungs)
    points = [t.point for t in store.trials()]
    assert len(set(points)) == len(points)
