from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from secateur.pareto import dominates, non_dominated, ranks

# Few distinct values: ties and equal points are where implementations differ.
POINTS = st.tuples(st.integers(0, 25), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
)


def brute_force(points: np.ndarray) -> np.ndarray:
    return np.array([not any(dominates(q, p) for q in points) for p in points], dtype=bool)


@settings(deadline=None)
@given(POINTS)
def test_non_dominated_is_what_the_definition_says(points: np.ndarray) -> None:
    assert np.array_equal(non_dominated(points), brute_force(points))


@settings(deadline=None)
@given(POINTS)
def test_ranks_peel_off_front_after_front(points: np.ndarray) -> None:
    expected = np.zeros(len(points), dtype=np.int64)
    left = np.arange(len(points))
    rank = 0
    while len(left):
        front = brute_force(points[left])
        expected[left[front]] = rank
        left, rank = left[~front], rank + 1
    assert np.array_equal(ranks(points), expected)


@settings(deadline=None)
@given(POINTS, st.randoms(use_true_random=False))
def test_order_of_points_does_not_matter(points: np.ndarray, random) -> None:
    order = list(range(len(points)))
    random.shuffle(order)
    assert np.array_equal(non_dominated(points)[order], non_dominated(points[order]))
    assert np.array_equal(ranks(points)[order], ranks(points[order]))


def test_equal_points_are_all_kept() -> None:
    points = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert non_dominated(points).tolist() == [True, True, True, False]
    assert ranks(points).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("better", [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
def test_dominates_needs_one_better_and_none_worse(better: list[float]) -> None:
    worse = np.array([1.0, 1.0])
    assert dominates(np.array(better), worse)
    assert not dominates(worse, np.array(better))
    assert not dominates(worse, worse)
    assert not dominates(np.array([0.0, 2.0]), worse)


def test_no_points() -> None:
    assert non_dominated(np.zeros((0, 2))).shape == (0,)
    assert ranks(np.zeros((0, 2))).shape == (0,)
    assert non_dominated(np.zeros((0, 2))).dtype == bool


@pytest.mark.parametrize("function", [non_dominated, ranks])
@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_numbers_that_are_not_finite_are_refused(function, wrong: float) -> None:
    points = np.array([[0.0, 1.0], [1.0, wrong]])
    with pytest.raises(ValueError, match=rf"must be finite numbers, got {wrong} at \(1, 1\)"):
        function(points)
