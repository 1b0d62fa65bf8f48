from __future__ import annotations

import numpy as np

from secateur.pareto import epsilon_net


def test_each_is_as_far_as_can_be_from_those_before() -> None:
    """On a line: the left end, the right end, the middle, then what is left in its order."""
    line = np.array([[0.0, 8.0], [1.0, 7.0], [4.0, 4.0], [7.0, 1.0], [8.0, 0.0]])
    assert epsilon_net(line).tolist() == [0, 4, 2, 1, 3]


def test_by_brute_force() -> None:
    points = np.random.default_rng(0).random((12, 3))
    scaled = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    order = epsilon_net(points)
    assert sorted(order) == list(range(12))
    assert order[0] == np.argmin(points[:, 0])
    for place in range(1, 12):
        nearest = {
            i: min(float(np.linalg.norm(scaled[i] - scaled[j])) for j in order[:place])
            for i in range(12)
            if i not in order[:place]
        }
        assert nearest[order[place]] == max(nearest.values())


def test_few_and_equal_points() -> None:
    assert epsilon_net(np.zeros((0, 2))).tolist() == []
    assert epsilon_net(np.array([[1.0, 2.0], [1.0, 2.0]])).tolist() == [0, 1]
