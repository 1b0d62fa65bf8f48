"""Stage 3: other masks, as many in each layer, by the block-diagonal Fisher information (Kwon et al. 2022, section 4.2).

The search saw each mask alone. Within a layer masks interact: two heads that do the same may be pruned one by one, not both.
"""

from __future__ import annotations

import numpy as np


def rearranged(kept: np.ndarray, fisher: np.ndarray) -> np.ndarray:
    """A mask (k,) of bool that keeps as many as `kept` and loses no more: (1 − m)ᵀ I (1 − m), with I = `fisher` (k, k).

    Greedy, from `kept` on: each kept one in turn, the least informative first, is pruned in place of the one whose return then
    saves the most, which may be itself.
    """
    kept = kept.copy()
    if kept.all() or not kept.any():
        return kept
    own = np.diagonal(fisher)
    with_pruned = fisher[:, ~kept].sum(1)  # Σ I_ij over the pruned j
    for candidate in np.flatnonzero(kept)[np.argsort(own[kept], kind="stable")]:
        kept[candidate] = False
        with_pruned += fisher[:, candidate]
        saved = np.where(kept, -np.inf, 2 * with_pruned - own)
        back = candidate if saved[candidate] >= saved.max() else int(np.argmax(saved))  # a tie changes nothing
        kept[back] = True
        with_pruned -= fisher[:, back]
    return kept
