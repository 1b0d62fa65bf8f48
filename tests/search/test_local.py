from __future__ import annotations

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.objectives import Objective
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


def one_hilltop() -> Toy:
    """The largest network has the least error, so that a climb ends where it begins: at the start of the space."""
    return toy("medium", shape=Shape(2, 3, 4)).seeking(Objective("error"))


def test_a_restart_is_a_climb_of_its_own() -> None:
    """By brute force: each proposal is a neighbour of the best since the last start, while it has unseen ones."""
    problem = one_hilltop()
    searcher = LocalSearch(problem.space, problem.objectives, seed=3)
    climb: list[Architecture] = []
    seen: set[str] = set()
    restarts, steps = 0, 0
    for _ in range(80):
        best = min((problem.evaluate(a)["error"] for a in climb), default=None)
        tops = [a for a in climb if problem.evaluate(a)["error"] == best]
        near = {n.key for a in tops for n in problem.space.neighbours(a)} - seen
        (proposal,) = searcher.ask()
        assert proposal.key not in seen
        if near:
            assert proposal.key in near
            steps += restarts > 0
        else:
            climb, restarts = [], restarts + bool(seen)
        climb.append(proposal.architecture)
        seen.add(proposal.key)
        searcher.tell(problem.result(proposal.architecture, proposal.id))
    assert restarts >= 3
    assert steps >= 20, "the climbs after the first are none"


def test_restarts_are_resumed() -> None:
    problem = one_hilltop()
    whole = LocalSearch(problem.space, problem.objectives, seed=3)
    asked = problem.run(whole, 60)
    restarts = set()
    for stop in range(1, 58):
        resumed = LocalSearch(problem.space, problem.objectives, seed=3)
        resumed.restore(whole.history[:stop])
        restarts.add(resumed._restarts)
        (trial,) = resumed.ask()
        assert trial.architecture == asked[stop]
        waiting = LocalSearch(problem.space, problem.objectives, seed=3)
        waiting.restore(whole.history[:stop], [trial])
        assert waiting.ask(2) == resumed.ask(2)
    assert len(restarts) >= 3


def test_goes_on_beside_a_restart_that_still_runs() -> None:
    problem = one_hilltop()
    searcher = LocalSearch(problem.space, problem.objectives, seed=3)
    while not searcher._restarts:
        first, *rest = searcher.ask(1)
        if first.key == searcher._next_start.key:
            near = {a.key for a in problem.space.neighbours(first.architecture)}
            beside = searcher.ask(3)
            assert {t.key for t in beside} <= near
            rest = beside
        for trial in (first, *rest):
            searcher.tell(problem.result(trial.architecture, trial.id))


def test_a_result_nobody_asked_for_begins_no_climb() -> None:
    problem = one_hilltop()
    searcher = LocalSearch(problem.space, problem.objectives, seed=3)
    problem.run(searcher, 3)
    place = searcher._next_start
    searcher.tell(problem.result(place, origin="sweep"))
    assert len(searcher._climb.trials) == 1
    assert searcher._next_start.key not in {key for key, _ in searcher.seen}


def test_few_steps_are_drawn_at_a_local_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = one_hilltop()
    searcher = LocalSearch(problem.space, problem.objectives, seed=3)
    draws = 0
    mutate = type(problem.space).mutate

    def counted(*args: object) -> Architecture:
        nonlocal draws
        draws += 1
        return mutate(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(type(problem.space), "mutate", counted)
    for _ in range(60):
        before = draws
        problem.run(searcher, 1)
        assert draws - before <= LocalSearch.draws


def test_the_neighbours_of_a_large_space_are_not_all_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Large(Shape(12, 12, 3072))
    problem = Toy.of(space)
    searcher = LocalSearch(space, problem.objectives, seed=0)
    problem.run(searcher, 1)
    monkeypatch.setattr(type(space), "mutate", lambda self, a, rng: a)  # no step is new
    monkeypatch.setattr(LocalSearch, "most_listed", 5)
    listed = []
    neighbours = type(space).neighbours

    def counted(self: Large, a: Architecture) -> object:
        for found in neighbours(self, a):
            listed.append(found)
            yield found

    monkeypatch.setattr(type(space), "neighbours", counted)
    (proposal,) = searcher.ask()
    assert len(listed) == 5
    assert proposal.architecture in listed
