"""Rearranging keeps the number, never loses more, and finds the best there is in nearly all small cases."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from secateur.methods.fisher.information import block
from secateur.methods.fisher.rearrange import rearranged


def lost(kept, fisher):
    pruned = (~kept).astype(float)
    return float(pruned @ fisher @ pruned)


def by_diagonal(fisher, count):
    """The masks the search gives: those with the most information each."""
    kept = np.zeros(len(fisher), bool)
    kept[np.argsort(-np.diagonal(fisher), kind="stable")[:count]] = True
    return kept


def least(fisher, count):
    """The least loss of all masks that keep so many."""
    masks = (np.isin(np.arange(len(fisher)), kept) for kept in combinations(range(len(fisher)), count))
    return min(lost(mask, fisher) for mask in masks)


def test_compared_with_every_mask():
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(60):
        fisher = block(rng.standard_normal((5, 8)) * rng.uniform(0.5, 2, 8))
        for count in (2, 4, 6):
            before = by_diagonal(fisher, count)
            after = rearranged(before, fisher)
            assert after.sum() == count
            floor, start, end = least(fisher, count), lost(before, fisher), lost(after, fisher)
            assert floor - 1e-12 <= end <= start + 1e-12
            gains.append((start - floor, end - floor))
    start, end = np.sum(gains, axis=0)
    assert end < 0.2 * start  # of what the diagonal alone loses too much


def test_two_that_cancel_are_pruned_together():
    """Masks 0 and 1 cancel each other; 2 and 3 are cheaper by themselves, but add up."""
    gradients = np.array([[2.0, -2.0, 1.0, 1.0]])
    fisher = block(gradients)
    before = by_diagonal(fisher, 2)
    assert before.tolist() == [True, True, False, False]
    after = rearranged(before, fisher)
    assert lost(before, fisher) == pytest.approx(4)
    assert lost(after, fisher) == pytest.approx(1)  # greedy: (2 − 1)², not the best, 0
    assert before.tolist() == [True, True, False, False]  # not in place


@pytest.mark.parametrize("count", [0, 4])
def test_nothing_to_exchange(count):
    fisher = block(np.random.default_rng(1).standard_normal((6, 4)))
    before = by_diagonal(fisher, count)
    assert (rearranged(before, fisher) == before).all()


def test_equal_masks_stay():
    assert rearranged(np.array([True, False, True, False]), np.eye(4)).tolist() == [True, False, True, False]
