from __future__ import annotations

import numpy as np
import pytest

from secateur.rng import generator
from secateur.search import LocalSearch
from secateur.spaces.base import Space
from secateur.spaces.pruning import Large, Shape, Small
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


def test_a_population_is_drawn_from_all_sizes_first() -> None:
    """A seventh of uniform widths have at most a quarter of the units and of the heads; of squared ones, half of each do."""
    problem = toy("small", shape=Shape(3, 40, 400))
    searcher = LocalSearch(problem.space, problem.objectives, seed=4, population=60)
    asked = problem.run(searcher, 80)
    assert asked[0] == problem.space.largest()
    drawn = [dict(a.choices) for a in asked[1:60]]
    assert {c["layers"] for c in drawn} == {3}
    assert 20 <= sum(c["heads"] <= 10 for c in drawn) <= 40
    assert 20 <= sum(c["units"] <= 100 for c in drawn) <= 40
    front = set(asked[:60])
    assert all(any(step in set(problem.space.neighbours(a)) for a in [*front, *asked[60:]]) for step in asked[60:])
    resumed = LocalSearch(problem.space, problem.objectives, seed=4, population=60)
    resumed.restore(list(searcher.history)[:30])
    assert resumed.ask(1)[0].architecture == asked[30]


def test_draws_keep_to_the_ranges() -> None:
    space = Small(Shape(6, 12, 1536), heads="4..12:4", units="256..1024:128", layers="2..4")
    drawn = [space.spread(generator(0, "spread", i)) for i in range(200)]
    assert all(space.contains(a) for a in drawn)
    assert {dict(a.choices)["layers"] for a in drawn} == {4}
    assert {dict(a.choices)["heads"] for a in drawn} == {4, 8, 12}
    assert all(dict(Small(Shape(6, 2, 2)).spread(generator(0, i)).choices).values() for i in range(50))  # none is empty


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
