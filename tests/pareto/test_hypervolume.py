from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from secateur.pareto import hypervolume, hypervolume_over_time

GRID = st.tuples(st.integers(0, 8), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 6).map(float))
)


def cells(points: np.ndarray, reference: np.ndarray) -> float:
    """The unit cells below the reference that some point dominates, counted one by one."""
    corners = itertools.product(*(range(int(r)) for r in reference))
    return float(sum(any(np.all(p <= corner) for p in points) for corner in corners))


@settings(deadline=None)
@given(GRID)
def test_equals_the_count_of_cells(points: np.ndarray) -> None:
    reference = np.full(points.shape[1], 5.0)  # some points lie on or beyond it
    assert hypervolume(points, reference) == pytest.approx(cells(points, reference))


@settings(deadline=None)
@given(arrays(np.float64, (5, 2), elements=st.floats(0, 1)))
def test_equals_inclusion_and_exclusion(points: np.ndarray) -> None:
    reference = np.array([1.0, 1.0])
    total = 0.0
    for k in range(1, 6):
        for subset in itertools.combinations(points, k):
            total -= (-1) ** k * np.prod(reference - np.max(subset, axis=0))
    assert hypervolume(points, reference) == pytest.approx(total, abs=1e-9)


def test_over_time_never_falls_and_ends_at_the_whole() -> None:
    points = np.random.default_rng(0).random((20, 2))
    reference = np.array([0.9, 0.9])
    course = hypervolume_over_time(points, reference)
    assert course.shape == (20,)
    assert np.all(np.diff(course) >= 0)
    assert course[-1] == hypervolume(points, reference)


def test_nothing_inside_is_zero() -> None:
    reference = np.array([1.0, 1.0])
    assert hypervolume(np.zeros((0, 2)), reference) == 0.0
    assert hypervolume(np.array([[1.0, 0.0], [2.0, 2.0]]), reference) == 0.0
    assert hypervolume_over_time(np.zeros((0, 2)), reference).shape == (0,)
