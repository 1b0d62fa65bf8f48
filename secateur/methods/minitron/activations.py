"""Importance by activations alone, from forward passes (Muralidharan et al. 2024).

A head's activation at a token is the norm of its output, a unit's its absolute value, both where they enter the projection back
to the model's width. They are aggregated as the paper found best: the mean over a sequence's tokens, then the root of the sum
of squares over sequences. A layer's importance is its block importance (Men et al. 2024, ShortGPT): 1 − the cosine between what
enters the layer and what leaves it, the mean over tokens.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from secateur.anatomy.base import HEADS, UNITS
from secateur.errors import DataError, EvaluationFailure
from secateur.supernet import Supernet
from secateur.supernet.evaluating import evaluating, no_cache


@dataclass(frozen=True)
class Activations:
    """Importance of heads (L, H), units (L, U) and layers (L,)."""

    heads: np.ndarray
    units: np.ndarray
    layers: np.ndarray

    def as_arrays(self) -> dict[str, np.ndarray]:
        """What is saved with a run."""
        return {"heads": self.heads, "units": self.units, "layers": self.layers}

    def masks(self, layers: int, heads: int, units: int) -> np.ndarray:
        """Bits of the space `large` (L, H + U): so many of the most important layers, in each so many heads and units.

        Of equals the first stay.
        """
        kept = np.zeros(len(self.layers), bool)
        kept[np.argsort(-self.layers, kind="stable")[:layers]] = True
        parts = [_first(self.heads, heads), _first(self.units, units)]
        return np.hstack(parts).astype(np.int64) * kept[:, None]


def _first(scores: np.ndarray, count: int) -> np.ndarray:
    """The mask of the `count` highest scores in each row."""
    mask = np.zeros(scores.shape, bool)
    np.put_along_axis(mask, np.argsort(-scores, axis=1, kind="stable")[:, :count], True, axis=1)
    return mask


def activation_importance(supernet: Supernet, batches: Iterable[Mapping[str, torch.Tensor]]) -> Activations:
    """Score heads, units and layers on batches of texts; padded positions do not count. The model is left as it was.

    Raises DataError without a batch, EvaluationFailure where the scores are not finite.
    """
    sums = _Sums(supernet)
    model, seen = supernet.model, False
    with evaluating(model), _watched(supernet, sums):
        for batch in batches:
            seen = True
            mask = batch.get("attention_mask")
            sums.mask = (torch.ones_like(batch["input_ids"]) if mask is None else mask).float()
            sums.tokens += float(sums.mask.sum())
            model(**no_cache(model), **{name: value for name, value in batch.items() if name != "labels"})
    if not seen:
        raise DataError("importance by activations needs at least one batch, got none.")
    heads, units = (np.sqrt(sums.squares[by]) for by in (HEADS, UNITS))
    layers = 1 - sums.cosines / sums.tokens
    if not all(np.isfinite(found).all() for found in (heads, units, layers)):
        raise EvaluationFailure("importance by activations is not finite: the network's activations overflow")
    return Activations(heads, units, layers)


class _Sums:
    """What has been seen so far: squares over sequences of means over tokens, and cosines summed over tokens."""

    def __init__(self, supernet: Supernet) -> None:
        shape = supernet.shape
        self.squares = {by: np.zeros((shape.layers, getattr(shape, by))) for by in (HEADS, UNITS)}
        self.cosines, self.tokens = np.zeros(shape.layers), 0.0
        self.mask = torch.zeros(0)

    def part(self, by: str, layer: int) -> Any:
        def hook(module: Any, args: tuple[Any, ...]) -> None:
            norms = args[0].float().unflatten(-1, (self.squares[by].shape[1], -1)).norm(dim=-1)  # (B, T, heads or units)
            means = (norms * self.mask[..., None]).sum(1) / self.mask.sum(1, keepdim=True).clamp(min=1)
            self.squares[by][layer] += means.double().square().sum(0).cpu().numpy()

        return hook

    def block(self, layer: int) -> Any:
        def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            before = args[0] if args else kwargs["hidden_states"]
            after = output[0] if isinstance(output, tuple) else output
            cosine = F.cosine_similarity(before.float(), after.float(), dim=-1)
            self.cosines[layer] += float((cosine * self.mask).double().sum())

        return hook


@contextlib.contextmanager
def _watched(supernet: Supernet, sums: _Sums) -> Iterator[None]:
    handles = []
    try:
        for i, layer in enumerate(supernet.layers):
            handles.append(layer.register_forward_hook(sums.block(i), with_kwargs=True))
            for by in (HEADS, UNITS):
                module = layer.get_submodule(supernet.anatomy.output(by).module)
                handles.append(module.register_forward_pre_hook(sums.part(by, i)))
        yield
    finally:
        for handle in handles:
            handle.remove()
