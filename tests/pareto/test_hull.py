from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from secateur.pareto import convex_hull, non_dominated


def by_linear_programmes(points: np.ndarray) -> np.ndarray:
    """A point is on the hull where some weights ≥ 0 make it no worse than any other: one linear programme each."""
    found = non_dominated(points)
    columns = points.shape[1]
    for i in np.flatnonzero(found):
        # Minimise t subject to w · (p_i − p_j) ≤ t for all j: 0 on the hull, more off it.
        worse = np.column_stack([points[i] - points, -np.ones(len(points))])
        solved = linprog(
            np.r_[np.zeros(columns), 1],
            A_ub=worse,
            b_ub=np.zeros(len(points)),
            A_eq=[[1.0] * columns + [0.0]],
            b_eq=[1.0],
            bounds=[(0, None)] * columns + [(None, None)],
        )
        assert solved.success
        found[i] = solved.fun <= 1e-9
    return found


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 25), st.booleans())
def test_equals_linear_programmes(seed: int, columns: int, n: int, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    # Whole numbers bring ties, points between others, and flat parts.
    points = rng.integers(0, 5, size=(n, columns)).astype(float) if whole else rng.random((n, columns))
    assert convex_hull(points).tolist() == by_linear_programmes(points).tolist()


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32), st.integers(2, 3))
def test_scales_do_not_matter(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.random((40, columns))
    scale = 10.0 ** rng.integers(-9, 10, size=columns)
    shift = scale * rng.normal(size=columns)
    assert convex_hull(points * scale + shift).tolist() == convex_hull(points).tolist()


def test_a_front_that_bends_inwards_keeps_its_ends() -> None:
    points = np.array([[0.0, 1.0], [0.6, 0.6], [1.0, 0.0], [1.0, 1.0]])
    assert non_dominated(points).tolist() == [True, True, True, False]
    assert convex_hull(points).tolist() == [True, False, True, False]


def test_on_a_line_all_are_kept_and_equal_ones_too() -> None:
    points = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.5, 0.5], [0.25, 0.75]])
    assert convex_hull(points).all()


def test_few_points_and_columns() -> None:
    assert convex_hull(np.zeros((0, 2))).tolist() == []
    assert convex_hull(np.array([[3.0, 4.0]])).tolist() == [True]
    assert convex_hull(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])).tolist() == [True, True, False]
    assert convex_hull(np.array([[3.0], [1.0], [2.0], [1.0]])).tolist() == [False, True, False, True]


def test_a_column_that_is_the_same_for_all() -> None:
    points = np.array([[0.0, 1.0, 7.0], [0.6, 0.6, 7.0], [1.0, 0.0, 7.0], [0.2, 0.3, 7.0]])
    assert convex_hull(points).tolist() == [True, False, True, True]


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_a_front_that_bends_outwards_is_kept_whole(columns: int) -> None:
    directions = np.abs(np.random.default_rng(0).normal(size=(300, columns)))
    points = -directions / np.linalg.norm(directions, axis=1, keepdims=True)  # convex: all are on the hull
    assert convex_hull(points).all()
