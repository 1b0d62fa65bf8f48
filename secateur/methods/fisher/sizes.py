"""Masks for networks of given sizes, counted in parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch

from secateur.anatomy.base import HEADS, UNITS
from secateur.architecture import Architecture
from secateur.methods.fisher.information import diagonal, mask_gradients
from secateur.methods.fisher.search import Masks, Prices, search_masks
from secateur.objectives import Bound
from secateur.spaces.pruning import Large, Shape
from secateur.supernet import Supernet

#: Tuning solves for all units of a layer at once: with more than this a run by weight sharing does without.
MOST_UNITS = 8192
#: What heads and units cost, and what may be spent.
Constraint = tuple[Prices, float]


def within_sizes(supernet: Supernet, levels: Sequence[Bound]) -> list[Constraint]:
    """At most so many parameters in the layers; what a layer has in any case counts for all layers."""
    (counts, *_), whole = supernet.counts, supernet.body_parameters(supernet.whole)
    prices = Prices(counts.per_head, counts.per_unit, counts.with_heads, counts.with_units)
    return [(prices, level.resolve(whole) - supernet.shape.layers * counts.always) for level in levels]


def masked(shape: Shape, masks: Masks) -> Architecture:
    """The network that keeps what the masks (L, H) and (L, U) keep."""
    return Large(shape).from_values(np.hstack(masks).astype(np.int64).ravel())


def masks_by_information(
    supernet: Supernet, batches: Iterable[Mapping[str, torch.Tensor]], levels: Sequence[Bound]
) -> list[Architecture]:
    """For each size the network that keeps the most of the diagonal Fisher information. Gradients are not kept, so that large
    networks can be asked too; sizes too small for any head or unit have none."""
    total, seen = {HEADS: np.zeros(()), UNITS: np.zeros(())}, 0
    for batch in batches:
        found = mask_gradients(supernet, [batch])
        seen += len(found.heads)
        for by, rows in ((HEADS, found.heads), (UNITS, found.units)):
            total[by] = total[by] + len(rows) * diagonal(rows)
    heads, units = (total[by] / seen for by in (HEADS, UNITS))
    chosen = [search_masks(heads, units, prices, budget) for prices, budget in within_sizes(supernet, levels)]
    return [masked(supernet.shape, masks) for masks in chosen if any(mask.any() for mask in masks)]
