"""Stage 1: the Fisher information of mask variables, one for each head and unit (Kwon et al. 2022, section 4.1).

Pruning sets masks from 1 to 0. To second order the loss then grows by ½ (1 − m)ᵀ I (1 − m), where I, the Fisher information, is
the mean over examples of g gᵀ and g the gradient of an example's loss with respect to the masks at 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from secateur.anatomy.base import HEADS, UNITS
from secateur.errors import DataError
from secateur.supernet import Supernet
from secateur.supernet.gates import gate_gradients


@dataclass(frozen=True)
class MaskGradients:
    """Of n examples, each by itself: heads (n, L, H) and units (n, L, U)."""

    heads: np.ndarray
    units: np.ndarray


def mask_gradients(supernet: Supernet, batches: Iterable[Mapping[str, torch.Tensor]]) -> MaskGradients:
    """The gradients of every example of batches that hold labels.

    Raises DataError without a batch, EvaluationFailure where gradients are not finite.
    """
    found: dict[str, list[np.ndarray]] = {HEADS: [], UNITS: []}
    for batch in batches:
        gradients = gate_gradients(supernet, batch)
        for by, rows in found.items():
            rows.append(gradients.of_examples(by).float().cpu().numpy())
    if not found[HEADS]:
        raise DataError("the Fisher information needs at least one batch, got none.")
    return MaskGradients(np.concatenate(found[HEADS]), np.concatenate(found[UNITS]))


def diagonal(gradients: np.ndarray) -> np.ndarray:
    """The information of each mask by itself, (L, k), of gradients (n, L, k): what its removal alone costs."""
    squares: np.ndarray = np.square(gradients, dtype=np.float64).mean(0)
    return squares


def summed_diagonal(supernet: Supernet, batches: Iterable[Mapping[str, torch.Tensor]]) -> tuple[np.ndarray, np.ndarray]:
    """The same of all heads (L, H) and units (L, U), batch by batch: the gradients of examples are not kept."""
    heads, units, seen = np.zeros(()), np.zeros(()), 0
    for batch in batches:
        found = mask_gradients(supernet, [batch])
        count = len(found.heads)
        heads, units, seen = heads + count * diagonal(found.heads), units + count * diagonal(found.units), seen + count
    return heads / seen, units / seen


def block(gradients: np.ndarray) -> np.ndarray:
    """The information of the masks of one layer, (k, k), of gradients (n, k)."""
    wide = gradients.astype(np.float64)
    return wide.T @ wide / len(wide)
