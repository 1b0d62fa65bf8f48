from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.pareto import non_dominated
from secateur.search import Random
from secateur.spaces.pruning import Small
from secateur.testing.toys import toy
from secateur.trial import Status, Trial, level

POINTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=14)


@settings(max_examples=50, deadline=None)
@given(POINTS)
def test_the_front_kept_up_to_date_is_the_front_of_all(points: list[tuple[int, int]]) -> None:
    problem = toy("medium")
    searcher = Random(problem.space, problem.objectives)
    for architecture, (error, parameters) in zip(problem.space.every(), points, strict=False):
        searcher.tell(Trial(None, architecture, values={"error": error, "parameters": parameters}, origin="cache"))
    kept = non_dominated(np.array(points, dtype=float).reshape(-1, 2))
    assert searcher.front() == [r for r, k in zip(searcher.history, kept, strict=True) if k]


def test_an_architecture_told_twice_stands_once_in_the_front() -> None:
    problem = toy()
    searcher = Random(problem.space, problem.objectives)
    (proposal,) = searcher.ask()
    searcher.tell(problem.result(proposal.architecture, proposal.id))
    searcher.tell(problem.result(proposal.architecture, origin="cache"))
    assert len(searcher.history) == 2
    assert len(searcher.front()) == 1


def test_what_is_pending_is_known() -> None:
    problem = toy("medium")
    searcher = Random(problem.space, problem.objectives)
    first, second = searcher.ask(2)
    searcher.tell(Trial(first.id, first.architecture, "failed", reason="killed"))
    assert searcher.pending == {second.id: second}


def test_a_large_exhausted_space_ends_after_bounded_tries(monkeypatch) -> None:
    problem = toy()
    searcher = Random(problem.space, problem.objectives)
    monkeypatch.setattr(Random, "scan", 0)
    searcher.seen = {(a.key, None) for a in problem.space.every()}
    draws = []
    sample = Small.sample
    monkeypatch.setattr(Small, "sample", lambda self, rng: draws.append(1) or sample(self, rng))
    assert searcher.ask() == []
    assert len(draws) == 2 * Random.tries


def at(budget: float | None, error: float, number: int | None = None, parameters: float = 1.0) -> Trial:
    return Trial(number, toy().space.largest(), values={"error": error, "parameters": parameters}, budget=budget)


def test_a_front_is_of_one_budget() -> None:
    """The front at the largest budget, in whatever order the results come."""
    told = [at(1.0, 0.01), at(9.0, 0.5), at(3.0, 0.001), at(9.0, 0.6, parameters=0.5)]
    for order in itertools.permutations(told):
        searcher = Random(toy().space, toy().objectives)
        for trial in order:
            searcher.tell(trial)
        assert {t.values["error"] for t in searcher.front()} == {0.5, 0.6}
        assert searcher.front() == [t for t in order if t.budget == 9.0]
        assert searcher.complete() == [t for t in order if t.budget == 9.0]
        assert [t.values["error"] for t in searcher.front(1.0)] == [0.01]
        assert searcher.front(2.0) == []
    searcher.tell(at(None, 0.9))  # no choice of budget: all of it
    assert [t.values["error"] for t in searcher.front()] == [0.9]


def test_failures_at_a_larger_budget_do_not_empty_the_front() -> None:
    searcher = Random(toy().space, toy().objectives)
    searcher.tell(at(1.0, 0.5))
    searcher.tell(replace(at(9.0, 0.5), status=Status.FAILED, values={}))
    assert [t.budget for t in searcher.front()] == [1.0]


def test_a_network_is_seen_by_budget() -> None:
    searcher = Random(toy().space, toy().objectives)
    searcher.tell(at(1.0, 0.5))
    largest = toy().space.largest()
    assert searcher.seen == {(largest.key, 1.0)}
    assert searcher._is_new(largest), "a value at a small budget is not one at all of it"
    searcher.tell(at(None, 0.5))
    assert not searcher._is_new(largest)
    assert [level(b) for b in (0.0, 2.0)] < [level(None)] * 2


def test_restore_keeps_budgets() -> None:
    searcher = Random(toy().space, toy().objectives)
    waiting = replace(at(9.0, 0.5, number=4), status=Status.RUNNING, values={}, continues=2)
    searcher.restore([at(1.0, 0.25, number=2), at(1.0, 0.5, number=1)], [waiting])
    assert searcher.pending == {4: waiting}
    assert searcher.asked == 5
    assert {budget for _, budget in searcher.seen} == {1.0, 9.0}
    assert [t.budget for t in searcher.history] == [1.0, 1.0]


def test_importing_the_searchers_loads_no_heavy_library() -> None:
    code = (
        "import sys, secateur.search; "
        "print([m for m in ('torch', 'optuna', 'botorch', 'moocore', 'pandas', 'sklearn') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
