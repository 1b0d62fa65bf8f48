from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from secateur.errors import ConfigurationError, MissingExtraError
from secateur.pareto import hypervolume, non_dominated
from secateur.predictors import GaussianProcess
from secateur.search import Ehvi, Random
from secateur.search.ehvi import expected_gain
from secateur.search.model import standardise
from secateur.spaces.pruning import Large, Shape, Small
from secateur.testing.toys import Toy, toy
from secateur.trial import Trial

pytestmark = pytest.mark.slow

#: 13³ points: too many to score whole, few enough for the true front by brute force.
STEPPED = Small(Shape(12, 12, 3072), units=":256")


def test_spreads_over_a_known_front_and_beats_random_search() -> None:
    problem = Toy.of(STEPPED)
    front, reference = problem.front(), problem.reference()
    chosen = problem.run(Ehvi(problem.space, problem.objectives, iterations=15), 26)
    drawn = problem.run(Random(problem.space, problem.objectives), 26)
    found = problem.points(chosen)
    found = found[non_dominated(found)]
    reached = hypervolume(found, reference)
    assert reached > 1.05 * problem.hypervolume(drawn, reference)
    assert reached > 0.95 * hypervolume(front, reference)
    # A search whose reference point is wrong ends in one corner: the front must be covered from end to end.
    position = (found[:, 1] - front[:, 1].min()) / np.ptp(front[:, 1])
    assert {int(p * 4) for p in np.clip(position, 0, 0.999)} == {0, 1, 2, 3}


@settings(max_examples=40, deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(2, 9), st.integers(2, 4)), elements=st.floats(-1e3, 1e3, width=16)))
def test_the_reference_is_worse_than_every_point(points: np.ndarray) -> None:
    targets, reference = standardise(points)
    assert np.all(reference < targets)  # larger is better here
    for before, after in zip(points.T, targets.T, strict=True):
        assert np.all(np.diff(after[np.argsort(before, kind="stable")]) <= 0)


def test_a_constant_objective_is_survived() -> None:
    problem = toy("medium")
    searcher = Ehvi(problem.space, problem.objectives, initial=3, iterations=5)
    for _ in range(6):
        (proposal,) = searcher.ask()
        searcher.tell(Trial(proposal.id, proposal.architecture, values={"error": 0.5, "parameters": float(proposal.id)}))
    assert searcher.asked == 6
    assert searcher.fallbacks == 0


def test_starts_with_the_upper_bound_and_random_draws() -> None:
    problem = toy("medium")
    searcher = Ehvi(problem.space, problem.objectives, seed=4, initial=5)
    asked = [p.architecture for p in searcher.ask(5)]
    drawn = [p.architecture for p in Random(problem.space, problem.objectives, seed=4).ask(5)]
    assert asked[0] == problem.space.largest()
    assert asked[1:] == drawn[1:]


def test_known_results_replace_the_start_but_free_depths_do_not() -> None:
    problem = toy("medium")
    known = list(problem.space.every())[5:60:9]
    drawn = Random(problem.space, problem.objectives)
    for origin, modelled in (("cache", True), ("sweep", False)):
        searcher = Ehvi(problem.space, problem.objectives, initial=len(known), iterations=5)
        calls: list[int] = []
        fit = searcher._fitted
        searcher._fitted = lambda known, *more, c=calls, f=fit: c.append(len(known)) or f(known, *more)  # type: ignore
        for architecture in known:
            searcher.tell(problem.result(architecture, origin=origin))
        searcher.ask()
        assert bool(calls) is modelled
    assert drawn.asked == 0


def test_what_is_pending_is_not_proposed_again() -> None:
    problem = Toy.of(STEPPED)
    observed, candidates = (problem.space.sample_many(n, np.random.default_rng(n)) for n in (8, 200))
    known, pool, none = problem.space.encode_many(observed), problem.space.encode_many(candidates), np.zeros((0, 3))
    targets, reference = standardise(problem.points(observed))

    def scores(waiting: np.ndarray) -> np.ndarray:
        fitted = GaussianProcess(iterations=10).fit(known, targets, waiting=waiting, seed=0)
        assert fitted is not None
        return expected_gain(fitted, reference, 0)(pool)

    before = scores(none)
    best = int(np.argmax(before))
    assert scores(pool[best : best + 1])[best] < 0.2 * before[best]
    assert np.ptp(problem.points([p.architecture for p in _started(problem).ask(3)])[:, 1]) > 0.1 * problem.front()[:, 1].max()


def _started(problem: Toy) -> Ehvi:
    searcher = Ehvi(problem.space, problem.objectives, initial=6, iterations=10)
    problem.run(searcher, 6)
    return searcher


def test_infeasible_results_keep_it_from_where_they_were() -> None:
    problem = Toy.of(STEPPED)
    limit = 0.5 * problem.evaluate(problem.space.largest())["parameters"]
    searcher = Ehvi(problem.space, problem.objectives, seed=1, initial=8, iterations=10)
    feasible = []
    for _ in range(18):
        (proposal,) = searcher.ask()
        values = problem.evaluate(proposal.architecture)
        feasible.append(values["parameters"] <= limit)
        searcher.tell(Trial(proposal.id, proposal.architecture, "complete" if feasible[-1] else "infeasible", values=values))
    assert np.mean(feasible[10:]) > 0.6


def test_many_observations_are_cut_and_the_front_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = toy("medium")
    searcher = Ehvi(problem.space, problem.objectives, iterations=5)
    monkeypatch.setattr(searcher, "most_observations", 30)
    for architecture in problem.space.every():
        if architecture["heads"] != (1, 1):
            searcher.tell(problem.result(architecture, origin="cache"))
    chosen = searcher._chosen(searcher.complete(), np.random.default_rng(0))
    assert len(chosen) == 30
    assert {id(r) for r in searcher.front()} <= {id(r) for r in chosen}
    (proposal,) = searcher.ask()
    assert proposal.architecture["heads"] == (1, 1)


def test_a_model_that_cannot_be_fitted_is_counted_and_a_random_draw_made(monkeypatch: pytest.MonkeyPatch) -> None:
    from botorch.exceptions.errors import ModelFittingError

    import secateur.predictors.botorch_process as library

    def fail(*_: object, **__: object) -> None:
        raise ModelFittingError("all attempts failed")

    monkeypatch.setattr(library, "fit_gpytorch_mll", fail)
    for space in (toy("medium").space, STEPPED):
        problem = Toy.of(space)
        searcher = Ehvi(problem.space, problem.objectives, initial=3)
        assert len(set(problem.run(searcher, 6))) == 6
        assert searcher.fallbacks == 3


def test_torch_global_state_is_left_alone() -> None:
    import torch

    problem = toy("medium", "error", "parameters", "macs")
    searcher = Ehvi(problem.space, problem.objectives, initial=3, iterations=5)
    problem.run(searcher, 3)
    before = torch.random.get_rng_state()
    searcher.ask()
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.get_default_dtype() == torch.float32


def test_refuses_what_it_cannot_serve() -> None:
    large = Toy.of(Large(Shape(12, 12, 3072)))
    with pytest.raises(ConfigurationError, match="`ehvi` needs a space of at most 200 dimensions, `large` has 37008 here"):
        Ehvi(large.space, large.objectives)
    with pytest.raises(ConfigurationError, match="`ehvi` needs at least two objectives to trade off, got 1"):
        Ehvi(toy().space, toy("small", "error").objectives)
    with pytest.raises(ConfigurationError, match="`initial` must be at least 2, got 1"):
        Ehvi(toy().space, toy().objectives, initial=1)
    with pytest.raises(ConfigurationError, match="`iterations` must be at least 1, got 0"):
        Ehvi(toy().space, toy().objectives, iterations=0)


def test_says_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import secateur.predictors

    monkeypatch.delitem(sys.modules, "secateur.predictors.botorch_process", raising=False)
    monkeypatch.delattr(secateur.predictors, "botorch_process", raising=False)
    for name in ("botorch", "botorch.exceptions.errors"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"`botorch` is not installed. Install it with: pip install 'secateur\[bo\]'"):
        Ehvi(toy().space, toy().objectives)
