from __future__ import annotations

import subprocess
import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.pareto import non_dominated
from secateur.search import Random, Result
from secateur.spaces.pruning import Small
from secateur.testing.toys import toy

POINTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=14)


@settings(max_examples=50, deadline=None)
@given(POINTS)
def test_the_front_kept_up_to_date_is_the_front_of_all(points: list[tuple[int, int]]) -> None:
    problem = toy("medium")
    searcher = Random(problem.space, problem.objectives)
    for architecture, (error, parameters) in zip(problem.space.every(), points, strict=False):
        searcher.tell(Result(None, architecture, values={"error": error, "parameters": parameters}, origin="cache"))
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
    searcher.tell(Result(first.id, first.architecture, "failed", reason="killed"))
    assert searcher.pending == {second.id: second.architecture}


def test_a_large_exhausted_space_ends_after_bounded_tries(monkeypatch) -> None:
    problem = toy()
    searcher = Random(problem.space, problem.objectives)
    monkeypatch.setattr(Random, "scan", 0)
    searcher.seen = {a.key for a in problem.space.every()}
    draws = []
    sample = Small.sample
    monkeypatch.setattr(Small, "sample", lambda self, rng: draws.append(1) or sample(self, rng))
    assert searcher.ask() == []
    assert len(draws) == 2 * Random.tries


def test_importing_the_searchers_loads_no_heavy_library() -> None:
    code = (
        "import sys, secateur.search; "
        "print([m for m in ('torch', 'optuna', 'botorch', 'moocore', 'pandas', 'sklearn') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
