"""Stage 2: which heads and units to keep within a budget, by the diagonal of the Fisher information (algorithm 1)."""

from __future__ import annotations

import numpy as np


def search_masks(
    heads: np.ndarray, units: np.ndarray, *, per_head: float, per_unit: float, budget: float
) -> tuple[np.ndarray, np.ndarray]:
    """The masks, (L, H) and (L, U) of bool, that keep the most information of `heads` (L, H) and `units` (L, U).

    Every head costs `per_head` and every unit `per_unit` (operations, seconds, …) and the kept ones at most `budget`. For each
    number of heads the best ones are kept, and as many of the best units as the rest of the budget pays for: exact where the
    information is diagonal.
    """
    order = {name: np.argsort(-values.ravel(), kind="stable") for name, values in (("heads", heads), ("units", units))}
    worth_heads, worth_units = (
        np.concatenate([[0.0], np.cumsum(values.ravel()[order[name]])]) for name, values in (("heads", heads), ("units", units))
    )
    slack = 1e-9 * budget  # a share of a whole number of operations is seldom exact
    counts = np.arange(heads.size + 1)
    counts = counts[counts * per_head <= budget + slack]
    paid = np.minimum(np.floor((budget + slack - counts * per_head) / per_unit), units.size).astype(int)
    best = int(np.argmax(worth_heads[counts] + worth_units[paid]))
    kept_heads, kept_units = np.zeros(heads.size, bool), np.zeros(units.size, bool)
    kept_heads[order["heads"][: counts[best]]] = True
    kept_units[order["units"][: paid[best]]] = True
    return kept_heads.reshape(heads.shape), kept_units.reshape(units.shape)
