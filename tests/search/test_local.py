from __future__ import annotations

import numpy as np
import pytest

from secateur.search import LocalSearch
from secateur.spaces.base import Space
from secateur.spaces.pruning import Large, Shape
from secateur.testing.toys import Toy, toy
from secateur.trial import Trial


def test_starts_at_the_upper_bound() -> None:
    problem = toy("medium")
    for seed in range(3):
        (first,) = LocalSearch(problem.space, problem.objectives, seed=seed).ask()
        assert first.architecture == problem.space.largest()


def test_starts_where_the_space_says(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = toy("medium")
    monkeypatch.setattr(type(problem.space), "start", Space.start)  # a random point, as of a space without a better place
    starts = [LocalSearch(problem.space, problem.objectives, seed=s).ask()[0].architecture for s in (0, 1, 2, 0)]
    assert starts[0] == starts[3]
    assert len(set(starts)) == 3
    searcher = LocalSearch(problem.space, problem.objectives)
    problem.run(searcher, 1)
    resumed = LocalSearch(problem.space, problem.objectives)
    resumed.restore(list(searcher.history))
    assert resumed.ask(4) == searcher.ask(4)


def test_every_proposal_is_one_step_from_the_front() -> None:
    problem = toy("medium")
    searcher = LocalSearch(problem.space, problem.objectives, seed=2)
    problem.run(searcher, 1)
    for _ in range(25):
        near = {n.key for r in searcher.front() for n in problem.space.neighbours(r.architecture)}
        (proposal,) = searcher.ask()
        if near - {key for key, _ in searcher.seen - {proposal.point}}:
            assert proposal.architecture.key in near
        searcher.tell(problem.result(proposal.architecture, proposal.id))


def test_goes_on_beside_a_start_that_still_runs() -> None:
    problem = toy("medium")
    start, *rest = LocalSearch(problem.space, problem.objectives).ask(5)
    distance = [np.sum(problem.space.encode(start.architecture) != problem.space.encode(p.architecture)) for p in rest]
    assert distance == [1, 1, 1, 1]


def test_goes_elsewhere_from_a_start_that_broke_a_bound() -> None:
    problem = toy("medium", shape=Shape(3, 4, 6))
    far = []
    for seed in range(10):
        searcher = LocalSearch(problem.space, problem.objectives, seed=seed)
        (start,) = searcher.ask()
        searcher.tell(Trial(start.id, start.architecture, "infeasible", reason="parameters 72 > 36"))
        (second,) = searcher.ask()
        far.append(np.sum(problem.space.encode(start.architecture) != problem.space.encode(second.architecture)))
    assert max(far) > 2


def test_golden_front() -> None:
    problem = toy("medium")
    searcher = LocalSearch(problem.space, problem.objectives, seed=1)
    asked = problem.run(searcher, 12)
    assert sorted(str(r.architecture) for r in searcher.front()) == [
        "medium(heads=0·2, units=3·0)",
        "medium(heads=0·2, units=3·1)",
        "medium(heads=1·0, units=0·3)",
        "medium(heads=1·0, units=1·3)",
        "medium(heads=2·0, units=0·3)",
        "medium(heads=2·0, units=1·3)",
        "medium(heads=2·2, units=0·3)",
        "medium(heads=2·2, units=3·3)",
    ]
    assert problem.hypervolume(asked, np.array([1.0, 36.0])) == pytest.approx(23.66773127075029, rel=1e-12)


def test_finds_the_true_front_of_a_small_space() -> None:
    problem = toy("medium")
    searcher = LocalSearch(problem.space, problem.objectives)
    problem.run(searcher, 100)
    assert np.array_equal(np.unique(searcher.points(searcher.front()), axis=0), problem.front())


def test_serves_large() -> None:
    problem = Toy.of(Large(Shape(12, 12, 3072)))
    first, second, _ = problem.run(LocalSearch(problem.space, problem.objectives), 3)
    assert np.sum(problem.space.values(first) != problem.space.values(second)) == 1
