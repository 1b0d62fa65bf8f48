"""The search is exact for a diagonal: compared with every choice of masks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from secateur.methods.fisher.search import search_masks
from secateur.methods.prices import Prices
from secateur.spaces.pruning import Shape


def cost(h, u, prices):
    """Of masks (L, H) and (L, U)."""
    fixed = h.any(1).sum() * prices.attention + u.any(1).sum() * prices.feed_forward
    return h.sum() * prices.head + u.sum() * prices.unit + fixed


def best_of_all(heads, units, prices, budget):
    """The most information that any masks within the budget keep."""
    best = 0.0
    for bits in product([False, True], repeat=heads.size + units.size):
        h = np.array(bits[: heads.size]).reshape(heads.shape)
        u = np.array(bits[heads.size :]).reshape(units.shape)
        if cost(h, u, prices) <= budget + 1e-9:
            best = max(best, float(heads[h].sum() + units[u].sum()))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_nothing_within_the_budget_keeps_more(seed):
    rng = np.random.default_rng(seed)
    heads, units = rng.exponential(size=(2, 2)) * rng.uniform(0.5, 5), rng.exponential(size=(2, 4))
    prices = Prices(rng.uniform(1, 6), rng.uniform(0.3, 2))
    whole = prices.whole(Shape(2, 2, 4))
    for share in (0.05, 0.1, 0.3, 0.5, 0.9, 1.0):
        h, u = search_masks(heads, units, prices, share * whole)
        assert cost(h, u, prices) <= share * whole + 1e-9
        assert heads[h].sum() + units[u].sum() == pytest.approx(best_of_all(heads, units, prices, share * whole))


def test_where_layers_cost_too_it_is_near_the_best():
    """Which layers have heads is chosen by their sums: not always the best, never beyond the budget."""
    shares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        heads, units = rng.exponential(size=(3, 2)), rng.exponential(size=(3, 2))
        prices = Prices(*rng.uniform(0.5, 2, 2), *rng.uniform(0.5, 4, 2))
        whole = prices.whole(Shape(3, 2, 2))
        for share in (0.2, 0.4, 0.7):
            h, u = search_masks(heads, units, prices, share * whole)
            assert cost(h, u, prices) <= share * whole + 1e-9
            shares.append((heads[h].sum() + units[u].sum()) / best_of_all(heads, units, prices, share * whole))
    assert max(shares) <= 1 + 1e-9
    assert np.mean(shares) > 0.97


def test_heads_and_units_that_cost_nothing():
    """A device on which only the number of layers counts: whole sub-layers go."""
    heads, units = np.array([[1.0, 1.0], [3.0, 1.0]]), np.array([[2.0, 2.0, 2.0], [1.0, 1.0, 1.0]])
    prices = Prices(0.0, 0.0, 1.0, 1.0)
    h, u = search_masks(heads, units, prices, 0.5 * prices.whole(Shape(2, 2, 3)))
    assert h.tolist() == [[False, False], [True, True]]
    assert u.tolist() == [[True] * 3, [False] * 3]


def test_a_budget_of_everything_keeps_everything():
    """Whole numbers of operations, and a share that is not exact in binary."""
    h, u = search_masks(np.ones((3, 4)), np.ones((3, 12)), Prices(7, 3), (0.1 + 0.2) / 0.3 * 192)
    assert h.all()
    assert u.all()
    h, u = search_masks(np.zeros((1, 1)), np.ones((1, 10)), Prices(7, 1), 0.7 / 0.1)
    assert u.sum() == 7


def test_by_hand():
    """Three units' worth of budget: one head (2) and the best unit (1) keep 5 + 3, three units 3 + 2 + 1."""
    h, u = search_masks(np.array([[5.0, 1.0]]), np.array([[1.0, 3.0, 2.0]]), Prices(2, 1), 3)
    assert h.tolist() == [[True, False]]
    assert u.tolist() == [[False, True, False]]
