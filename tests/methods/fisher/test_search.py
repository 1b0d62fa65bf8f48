"""The search is exact for a diagonal: compared with every choice of masks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from secateur.methods.fisher.search import search_masks


def best_of_all(heads, units, per_head, per_unit, budget):
    """The most information that any masks within the budget keep."""
    best = -1.0
    for bits in product([0, 1], repeat=heads.size + units.size):
        kept = np.array(bits)
        h, u = kept[: heads.size], kept[heads.size :]
        if h.sum() * per_head + u.sum() * per_unit <= budget + 1e-9:
            best = max(best, float(h @ heads.ravel() + u @ units.ravel()))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_nothing_within_the_budget_keeps_more(seed):
    rng = np.random.default_rng(seed)
    heads, units = rng.exponential(size=(2, 2)) * rng.uniform(0.5, 5), rng.exponential(size=(2, 4))
    per_head, per_unit = rng.uniform(1, 6), rng.uniform(0.3, 2)
    whole = heads.size * per_head + units.size * per_unit
    for share in (0.05, 0.1, 0.3, 0.5, 0.9, 1.0):
        h, u = search_masks(heads, units, per_head=per_head, per_unit=per_unit, budget=share * whole)
        assert h.sum() * per_head + u.sum() * per_unit <= share * whole + 1e-9
        kept = heads[h].sum() + units[u].sum()
        assert kept == pytest.approx(best_of_all(heads, units, per_head, per_unit, share * whole))


def test_a_budget_of_everything_keeps_everything():
    """Whole numbers of operations, and a share that is not exact in binary."""
    h, u = search_masks(np.ones((3, 4)), np.ones((3, 12)), per_head=7, per_unit=3, budget=(0.1 + 0.2) / 0.3 * 192)
    assert h.all()
    assert u.all()
    h, u = search_masks(np.zeros((1, 1)), np.ones((1, 10)), per_head=7, per_unit=1, budget=0.7 / 0.1)
    assert u.sum() == 7


def test_by_hand():
    """Three units' worth of budget: one head (2) and the best unit (1) keep 5 + 3, three units 3 + 2 + 1."""
    h, u = search_masks(np.array([[5.0, 1.0]]), np.array([[1.0, 3.0, 2.0]]), per_head=2, per_unit=1, budget=3)
    assert h.tolist() == [[True, False]]
    assert u.tolist() == [[False, True, False]]
