"""Masks for networks of given sizes, counted in parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch

from secateur.architecture import Architecture
from secateur.methods.fisher.information import summed_diagonal
from secateur.methods.fisher.search import Masks, search_masks
from secateur.methods.prices import within_sizes
from secateur.objectives import Bound
from secateur.spaces.pruning import Large, Shape
from secateur.supernet import Supernet

#: Tuning solves for all units of a layer at once: with more than this a run by weight sharing does without.
MOST_UNITS = 8192


def masked(shape: Shape, masks: Masks) -> Architecture:
    """The network that keeps what the masks (L, H) and (L, U) keep."""
    return Large(shape).from_values(np.hstack(masks).astype(np.int64).ravel())


def masks_by_information(
    supernet: Supernet, batches: Iterable[Mapping[str, torch.Tensor]], levels: Sequence[Bound]
) -> list[Architecture]:
    """For each size the network that keeps the most of the diagonal Fisher information. Gradients are not kept, so that large
    networks can be asked too; sizes too small for any head or unit have none."""
    heads, units = summed_diagonal(supernet, batches)
    chosen = [search_masks(heads, units, prices, budget) for prices, budget in within_sizes(supernet, levels)]
    return [masked(supernet.shape, masks) for masks in chosen if any(mask.any() for mask in masks)]
