from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from secateur.errors import ConfigurationError
from secateur.pareto import dominates
from secateur.search.mo_asha import MoAsha
from secateur.search.rungs import rungs
from secateur.spaces.pruning import Shape
from secateur.testing.toys import Problem, toy
from secateur.trial import Status, Trial


def value(problem: Problem, trial: Trial) -> dict[str, float]:
    """Errors fall with the budget, at a pace of each architecture's own."""
    found = problem.evaluate(trial.architecture)
    pace = 1 + int(trial.key[:4], 16) / 65536
    return {**found, "error": found["error"] + 1 / (pace * (trial.budget or 1))}


def ended(problem: Problem, trial: Trial) -> Trial:
    return replace(trial, status=Status.COMPLETE, values=value(problem, trial))


def run(problem: Problem, searcher: MoAsha, trials: int) -> list[Trial]:
    asked = []
    for _ in range(trials):
        for trial in searcher.ask():
            asked.append(trial)
            searcher.tell(ended(problem, trial))
    return asked


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((1, 9, 3), (1, 3, 9)),
        ((1, 10, 3), (1, 3, 9, 10)),
        ((2, 2, 3), (2,)),
        ((0.5, 4, 2), (0.5, 1, 2, 4)),
        ((1, 2, 3), (1, 2)),
    ],
)
def test_rungs(given: tuple[float, float, int], expected: tuple[float, ...]) -> None:
    assert rungs(*given) == expected


@pytest.mark.parametrize(("given", "said"), [((3, 1, 3), "at most the largest"), ((0, 1, 3), "above 0"), ((1, 9, 1), "`eta`")])
def test_no_rungs(given: tuple[float, float, int], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        rungs(*given)


def peeled(points: dict[int, np.ndarray]) -> list[set[int]]:
    """Fronts, one after the other, by comparing all pairs."""
    left, fronts = dict(points), []
    while left:
        front = {i for i, p in left.items() if not any(dominates(q, p) for q in left.values())}
        fronts.append(front)
        left = {i: p for i, p in left.items() if i not in front}
    return fronts


@pytest.mark.parametrize("order", ["told", "epsilon-net"])
def test_what_goes_on_by_brute_force(order: str) -> None:
    """A trial goes on from the highest rung whose best third, by fronts, has one that did not; else a new one begins."""
    problem = toy("medium", shape=Shape(3, 4, 6))
    searcher = MoAsha(problem.space, problem.objectives, seed=1, eta=3, most=9, order=order)
    told: list[Trial] = []
    for _ in range(120):
        expected: tuple[float, float] | None = None
        for low, high in ((3.0, 9.0), (1.0, 3.0)):
            known = {t.id: searcher.points([t])[0] for t in told if t.budget == low}
            best, room = [], len(known) // 3
            for front in peeled(known):
                best.append(sorted(front))
                room -= len(front)
                if room <= 0:
                    break
            gone = {t.continues for t in told if t.budget == high}
            chosen = {t.id for t in searcher.promotable(low)}
            whole = set().union(*map(set, best[:-1])) if best else set()
            assert len(chosen) == len(known) // 3
            assert whole <= chosen <= set().union(*map(set, best)) if best else not chosen
            if chosen - gone and expected is None:
                expected = (low, high)
        (trial,) = searcher.ask()
        if expected is None:
            assert (trial.budget, trial.continues) == (1.0, None)
        else:
            (before,) = [t for t in told if t.id == trial.continues]
            assert (before.budget, trial.budget) == expected
            assert before.key == trial.key
        done = ended(problem, trial)
        searcher.tell(done)
        told.append(done)
    budgets = [t.budget for t in told]
    assert budgets.count(1.0) > budgets.count(3.0) > budgets.count(9.0) > 3


def test_nothing_is_asked_twice_and_a_restored_search_goes_on_as_before() -> None:
    problem = toy("medium", shape=Shape(3, 4, 6))
    whole = MoAsha(problem.space, problem.objectives, seed=2)
    asked = run(problem, whole, 60)
    assert len({t.point for t in asked}) == 60
    resumed = MoAsha(problem.space, problem.objectives, seed=2)
    resumed.restore(list(whole.history)[:30], asked[30:32])
    for trial in asked[30:32]:
        resumed.tell(ended(problem, trial))
    assert run(problem, resumed, 28) == asked[32:]


def test_several_workers_never_wait_for_a_rung() -> None:
    problem = toy("medium", shape=Shape(3, 4, 6))
    searcher = MoAsha(problem.space, problem.objectives, seed=3)
    assert len(searcher.ask(8)) == 8
    assert len({t.point for t in searcher.pending.values()}) == 8


def test_failed_trials_do_not_go_on() -> None:
    problem = toy("medium", shape=Shape(3, 4, 6))
    searcher = MoAsha(problem.space, problem.objectives, seed=4)
    for trial in searcher.ask(9):
        searcher.tell(Trial(trial.id, trial.architecture, "failed", budget=1.0, reason="diverged"))
    assert [t.budget for t in searcher.ask(3)] == [1.0, 1.0, 1.0]


def test_a_space_that_is_exhausted_ends_at_the_top() -> None:
    problem = toy("small")
    searcher = MoAsha(problem.space, problem.objectives, seed=5)
    asked = run(problem, searcher, 500)
    first = [t for t in asked if t.budget == 1.0]
    assert len(first) == len({a.key for a in problem.space.every()})
    assert len([t for t in asked if t.budget == 3.0]) >= len(first) // 3  # some went on while they were among the best


@pytest.mark.parametrize(
    ("count", "eta", "expected"),
    [(8, 3, [8, 2, 1]), (9, 3, [9, 3, 1]), (2, 3, [2, 1, 1]), (1, 3, [1, 1, 1]), (4, 4, [4, 1, 1])],
)
def test_contenders_meet_on_every_rung(count: int, eta: int, expected: list[int]) -> None:
    """Each rung is whole before its best go on, and the end is the best of the last rung but one."""
    problem = toy("medium", shape=Shape(3, 4, 6))
    contenders = problem.space.sample_many(count, np.random.default_rng(6))
    objectives = problem.objectives[:1]
    searcher = MoAsha(problem.space, objectives, least=1.0, most=eta**2, eta=eta, contenders=contenders)
    asked = run(problem, searcher, 50)
    assert [[t.budget for t in asked].count(rung) for rung in searcher.rungs] == expected
    assert [t.budget for t in asked] == sorted(t.budget or 0 for t in asked)
    for low, high in ((searcher.rungs[0], searcher.rungs[1]), (searcher.rungs[1], searcher.rungs[2])):
        told = {t.id: value(problem, t)["error"] for t in asked if t.budget == low}
        gone = {t.continues for t in asked if t.budget == high}
        assert max(told[i] for i in gone) <= min((e for i, e in told.items() if i not in gone), default=np.inf)


def test_a_contender_that_fails_is_not_waited_for() -> None:
    problem = toy("medium", shape=Shape(3, 4, 6))
    contenders = problem.space.sample_many(3, np.random.default_rng(7))
    searcher = MoAsha(problem.space, problem.objectives[:1], most=3.0, contenders=contenders)
    for trial in searcher.ask(3):
        failed = replace(trial, status=Status.FAILED, reason="diverged")
        searcher.tell(failed if trial.id == 0 else ended(problem, trial))
    (last,) = searcher.ask(3)
    assert last.budget == 3.0
    assert last.key != contenders[0].key


def test_what_may_still_go_on_is_named() -> None:
    """With nothing left to come, only the best third of a rung; with more to come, more of it."""
    problem = toy("medium", shape=Shape(3, 4, 6))
    searcher = MoAsha(problem.space, problem.objectives, seed=8, most=3.0)
    for trial in searcher.ask(6):
        searcher.tell(ended(problem, trial))
    ranked = [t.key for t in searcher.ranked(1.0)]
    assert searcher.may_continue(0) == set(ranked[:2])
    assert searcher.may_continue(6) == set(ranked[:4])
    (going,) = searcher.ask()
    assert searcher.may_continue(0) == set(ranked[:2]) | {going.key}
