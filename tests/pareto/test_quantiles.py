from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from secateur.pareto import quantile_normalise


def test_positions_and_ties() -> None:
    points = np.array([[10.0, 1.0], [30.0, 1.0], [20.0, 2.0]])
    assert quantile_normalise(points).tolist() == [[0.0, 0.25], [1.0, 0.25], [0.5, 1.0]]


def test_among_others() -> None:
    among = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    assert quantile_normalise(np.array([[-5.0], [2.0], [9.0]]), among).tolist() == [[0.0], [0.5], [1.0]]


def test_a_single_point_maps_to_zero() -> None:
    assert quantile_normalise(np.array([[7.0, 8.0]])).tolist() == [[0.0, 0.0]]


@settings(deadline=None)
@given(arrays(np.float64, (12, 2), elements=st.integers(-4, 4).map(float)))
def test_order_is_kept_and_scale_does_not_matter(points: np.ndarray) -> None:
    normal = quantile_normalise(points)
    assert normal.min() >= 0
    assert normal.max() <= 1
    for column, original in zip(normal.T, points.T, strict=True):
        assert np.array_equal(np.sign(column[:, None] - column), np.sign(original[:, None] - original))
    assert np.array_equal(normal, quantile_normalise(np.exp(points)))
