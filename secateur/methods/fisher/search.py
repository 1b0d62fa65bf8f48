"""Stage 2: which heads and units to keep within a budget, by the diagonal of the Fisher information (Kwon et al. 2022,
algorithm 1)."""

from __future__ import annotations

from itertools import product

import numpy as np

from secateur.methods.prices import Prices

#: Heads (L, H) and units (L, U): whether each is kept.
Masks = tuple[np.ndarray, np.ndarray]


def search_masks(heads: np.ndarray, units: np.ndarray, prices: Prices, budget: float) -> Masks:
    """The masks that cost at most `budget` and keep the most of the information of `heads` (L, H) and `units` (L, U).

    Exact where the information is diagonal and only heads and units cost. Where layers do too, every number of layers with
    heads and with units is tried, and those with the most information have them.
    """
    layers, budget = len(heads), budget * (1 + 1e-9)  # a share of a whole number of operations is seldom exact
    numbers = range(1, layers + 1) if prices.attention or prices.feed_forward else (layers,)
    best, most = (np.zeros(heads.shape, bool), np.zeros(units.shape, bool)), -1.0
    for with_heads, with_units in product((0, *numbers), repeat=2):
        left = budget - with_heads * prices.attention - with_units * prices.feed_forward
        if left >= 0:
            some_heads, some_units = _of_layers(heads, with_heads), _of_layers(units, with_units)
            masks = _within(some_heads, some_units, prices, left)
            if (kept := float(some_heads[masks[0]].sum() + some_units[masks[1]].sum())) > most:
                best, most = masks, kept
    return best


def _of_layers(information: np.ndarray, count: int) -> np.ndarray:
    """The information of the `count` layers that have the most, −1 elsewhere."""
    chosen = np.argsort(-information.sum(1), kind="stable")[:count]
    return np.where(np.isin(np.arange(len(information)), chosen)[:, None], information, -1.0)


def _within(heads: np.ndarray, units: np.ndarray, prices: Prices, budget: float) -> Masks:
    """For each number of heads the best ones, and as many of the best units as the rest of the budget pays for: of all these
    the best. What has negative information is not kept."""
    orders = [np.argsort(-values, axis=None, kind="stable") for values in (heads, units)]
    worth = [
        np.concatenate([[0.0], np.cumsum(values.ravel()[order][values.ravel()[order] >= 0])])
        for values, order in zip((heads, units), orders, strict=True)
    ]
    counts = np.arange(len(worth[0]))
    counts = counts[counts * prices.head <= budget]
    paid = np.full(len(counts), len(worth[1]) - 1)
    if prices.unit:
        paid = np.minimum(paid, (budget - counts * prices.head) // prices.unit).astype(int)
    best = int(np.argmax(worth[0][counts] + worth[1][paid]))
    masks = np.zeros(heads.size, bool), np.zeros(units.size, bool)
    for mask, order, kept in zip(masks, orders, (counts[best], paid[best]), strict=True):
        mask[order[:kept]] = True
    return masks[0].reshape(heads.shape), masks[1].reshape(units.shape)
