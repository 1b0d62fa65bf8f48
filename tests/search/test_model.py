"""Model-based search as a product: another predictor, encoding, acquisition function or pool fits in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.encodings import UnitCube
from secateur.errors import ConfigurationError
from secateur.predictors import Fitted, Predictor
from secateur.search import Ehvi, ModelSearcher, Random
from secateur.search.ehvi import expected_gain
from secateur.search.feasibility import chance
from secateur.search.pools import Pool
from secateur.spaces.pruning import Shape, Small
from secateur.testing.searchers import Build, SearcherContract
from secateur.testing.toys import Toy, toy
from secateur.trial import Trial

STEPPED = Small(Shape(12, 12, 3072), units=":256")


class Near(Predictor):
    """The mean of the nearest observations; the deviation grows with their distance. Remembers what it was given."""

    def __init__(self, k: int = 3) -> None:
        self.k = k
        self.fits: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def fit(self, inputs: np.ndarray, targets: np.ndarray, *, waiting: np.ndarray, seed: int) -> Fitted | None:
        self.fits.append((inputs, targets, waiting))
        return FittedNear(inputs, targets, min(self.k, len(inputs)))


class FittedNear(Fitted):
    def __init__(self, inputs: np.ndarray, targets: np.ndarray, k: int) -> None:
        self.inputs, self.targets, self.k = inputs, targets, k

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distances = np.sqrt(((inputs[:, None] - self.inputs[None]) ** 2).sum(axis=2))
        nearest = np.argsort(distances, axis=1, kind="stable")[:, : self.k]
        apart = np.take_along_axis(distances, nearest, axis=1).mean(axis=1, keepdims=True)
        return self.targets[nearest].mean(axis=1), np.repeat(0.05 + apart, self.targets.shape[1], axis=1)


class NoModel(Predictor):
    def fit(self, inputs: np.ndarray, targets: np.ndarray, *, waiting: np.ndarray, seed: int) -> Fitted | None:
        return None


def greedy(fitted: Fitted, reference: np.ndarray, seed: int) -> Any:
    """The sum of the means: quick, and no library."""
    return lambda candidates: fitted.predict(candidates)[0].sum(axis=1)


def near(*args: Any, **options: Any) -> ModelSearcher:
    return ModelSearcher(*args, predictor=Near(), **{"acquisition": expected_gain, "initial": 4, **options})


class TestContract(SearcherContract):
    @pytest.fixture
    def build(self) -> Build:
        return partial(near, acquisition=greedy)

    @pytest.fixture
    def problem(self) -> Toy:
        return toy("medium")

    @pytest.fixture
    def tiny(self) -> Toy:
        return toy("sublayer")


@pytest.mark.parametrize("names", [("error", "parameters"), ("error", "parameters", "macs")], ids=["two", "three"])
def test_another_predictor_with_expected_gain_beats_random_search(names: tuple[str, ...]) -> None:
    problem = Toy.of(STEPPED, *names)
    reference = problem.reference()
    searcher = near(problem.space, problem.objectives, seed=1, initial=6, pool=Pool(problem.space, draws=150))
    found = problem.hypervolume(problem.run(searcher, 18), reference)
    drawn = [
        problem.hypervolume(problem.run(Random(problem.space, problem.objectives, seed=s), 22), reference) for s in range(5)
    ]
    assert found > np.mean(drawn)
    assert searcher.fallbacks == 0
    assert len(searcher.predictor.fits) == 12


def test_the_gain_of_any_predictor_is_that_of_its_normal_distributions() -> None:
    """With hardly any deviation, the expected gain is the hypervolume that the mean adds."""

    class Sure(Fitted):
        targets = np.array([[0.0, 0.0]])

        def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return inputs, np.full_like(inputs, 1e-6)

    gain = expected_gain(Sure(), np.array([-1.0, -1.0]), 0)
    candidates = np.array([[1.0, 1.0], [0.5, -0.5], [-0.5, -0.5], [2.0, -2.0]])
    assert gain(candidates) == pytest.approx([3.0, 0.25, 0.0, 0.0], abs=1e-4)
    assert not gain.additive


def test_the_gain_of_three_objectives_is_a_logarithm() -> None:
    class Sure(Fitted):
        targets = np.zeros((1, 3))

        def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return inputs, np.full_like(inputs, 1e-4)

    gain = expected_gain(Sure(), np.full(3, -1.0), 0)
    assert gain.additive
    better, worse = gain(np.array([[1.0, 1.0, 1.0], [-0.5, -0.5, -0.5]]))
    assert better == pytest.approx(np.log(7.0), abs=0.05)
    assert worse < better - 3


def test_predictors_get_standardised_targets_and_what_is_pending() -> None:
    problem = toy("medium")
    searcher = near(problem.space, problem.objectives, acquisition=greedy)
    problem.run(searcher, 6)
    waiting = searcher.ask(2)
    searcher.ask()
    inputs, targets, pending = searcher.predictor.fits[-1]
    assert inputs.shape == (6, problem.space.dimensions)
    assert targets.mean(axis=0) == pytest.approx([0, 0], abs=1e-12)
    assert targets.std(axis=0) == pytest.approx([1, 1])
    values = problem.points([t.architecture for t in searcher.history])
    assert np.argmax(targets[:, 0]) == np.argmin(values[:, 0]), "the best is the largest for a predictor"
    assert np.array_equal(pending, problem.space.encode_many([t.architecture for t in waiting]))


def test_begins_with_the_start_of_the_space_and_random_draws() -> None:
    problem = toy("medium")
    searcher = near(problem.space, problem.objectives, seed=4, acquisition=greedy)
    asked = problem.run(searcher, 4)
    drawn = problem.run(Random(problem.space, problem.objectives, seed=4), 4)
    assert asked == [problem.space.start(np.random.default_rng(0)), *drawn[1:]]
    assert searcher.predictor.fits == []
    problem.run(searcher, 1)
    assert len(searcher.predictor.fits) == 1


def test_an_encoding_of_ones_own() -> None:
    class Reversed(UnitCube):
        def encode(self, architectures: Sequence[Architecture]) -> np.ndarray:
            return super().encode(architectures)[:, ::-1]

    problem = toy("medium")
    searcher = near(problem.space, problem.objectives, acquisition=greedy, encoding=Reversed(problem.space))
    problem.run(searcher, 6)
    inputs, *_ = searcher.predictor.fits[-1]
    assert np.array_equal(inputs, problem.space.encode_many([t.architecture for t in searcher.history[:-1]])[:, ::-1])


def test_where_no_model_can_be_fitted_a_candidate_is_drawn() -> None:
    problem = toy("medium")
    searcher = ModelSearcher(problem.space, problem.objectives, predictor=NoModel(), acquisition=greedy, initial=3)
    assert len(set(problem.run(searcher, 7))) == 7
    assert searcher.fallbacks == 4


def test_infeasible_results_lower_the_score() -> None:
    feasible, broken = np.array([[0.0, 0.0], [0.1, 0.0]]), np.array([[1.0, 1.0], [0.9, 1.0]])
    candidates = np.array([[0.0, 0.1], [1.0, 0.9]])
    assert chance(candidates, feasible, np.zeros((0, 2))).tolist() == [1.0, 1.0]
    many = np.concatenate([feasible] * 3), np.concatenate([broken] * 3)
    low, high = sorted(chance(candidates, *many))
    assert 0 < low < 0.1
    assert 0.9 < high < 1
    assert chance(candidates, *many)[0] == high


def test_a_small_space_is_scored_whole_and_a_large_one_is_drawn_from() -> None:
    rng = np.random.default_rng(0)
    small = toy("medium").space
    pool = Pool(small)
    every = list(small.every())
    assert pool.candidates([], lambda a: True, rng) == every
    assert pool.candidates([], lambda a: a.key != every[0].key, rng) == every[1:]
    assert pool.best(every, lambda some: np.arange(len(some)), lambda a: True, rng) == every[-1]
    large = Pool(STEPPED, draws=40)
    front = [STEPPED.largest(), STEPPED.smallest()]
    found = large.candidates(front, lambda a: a.key != front[0].key, rng)
    keys = [a.key for a in found]
    assert 40 < len(keys) <= 80
    assert len(set(keys)) == len(keys)
    assert front[0].key not in keys
    best = large.best(found, lambda some: STEPPED.encode_many(some).sum(axis=1), lambda a: True, rng)
    assert STEPPED.encode(best).sum() >= STEPPED.encode_many(found).sum(axis=1).max(), "what is near the best was not tried"


def test_a_model_needs_observations_that_differ() -> None:
    with pytest.raises(ConfigurationError, match="`initial` must be at least 2, got 1"):
        near(toy().space, toy().objectives, initial=1)


def test_ehvi_is_a_setting_of_it() -> None:
    problem = toy("medium")
    ehvi = Ehvi(problem.space, problem.objectives, seed=2, initial=3, iterations=5)
    same = ModelSearcher(problem.space, problem.objectives, 2, predictor=ehvi.predictor, acquisition=expected_gain, initial=3)
    assert problem.run(ehvi, 5) == problem.run(same, 5)


def test_results_at_the_largest_budget_are_learnt_from() -> None:
    problem = toy("medium")
    searcher = near(problem.space, problem.objectives, acquisition=greedy)
    for number, architecture in enumerate(problem.space.sample_many(8, np.random.default_rng(0))):
        budget = 9.0 if number % 2 else 1.0
        searcher.tell(Trial(None, architecture, values=problem.evaluate(architecture), budget=budget, origin="imported"))
    searcher.ask()
    assert len(searcher.predictor.fits[-1][0]) == len(searcher.complete()) == 4
