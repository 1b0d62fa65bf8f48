"""L2 distances of many vectors from a point: of bits they are counted, of other numbers computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings.base import Encoding
from secateur.rng import Generator

#: Vectors that are made at once.
CHUNK = 16_384
#: Of the widest dimension: numbers that differ by less are equal.
ROUNDING = 1e-5
#: Of the largest squared norm: squares of distances below this are computed again from differences, as products are too rough.
ROUGH = 1e-2


class Distances(Protocol):
    """The different vectors among n: `place` (n,) says which of the p different ones each is. Distances that differ by less
    than `rounding` are equal."""

    rounding: float
    place: np.ndarray

    def of(self, point: np.ndarray) -> np.ndarray:
        """The distances (p,) of the different vectors from a point (d,)."""

    def drawn(self, rng: Generator) -> np.ndarray:
        """A point (d,), uniform in the smallest box around the vectors."""


class Bits:
    """Vectors of 0 and 1, packed: 364 bits of each cell of NAS-Bench-101 take 20 MB. `parts`: (n, d), one below the other."""

    rounding = 0.01

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        self._words = -(-parts[0].shape[1] // 64)
        self._low = np.logical_and.reduce([part.all(axis=0) for part in parts])
        self._high = np.logical_or.reduce([part.any(axis=0) for part in parts])
        packed = np.concatenate([self._packed(part) for part in parts])
        vectors, place = np.unique(packed, axis=0, return_inverse=True)
        self.place = place.reshape(-1)  # numpy 2.0 gives it the shape of a column
        self._vectors = np.ascontiguousarray(vectors.T)

    def _packed(self, bits: np.ndarray) -> np.ndarray:
        """Bits (n, d) as words (n, w)."""
        padded = np.zeros((len(bits), 64 * self._words), dtype=bool)
        padded[:, : bits.shape[1]] = bits
        return np.packbits(padded, axis=1).view(np.uint64)

    def of(self, point: np.ndarray) -> np.ndarray:
        total = np.zeros(self._vectors.shape[1], dtype=np.uint16)
        for words, word in zip(self._vectors, self._packed(point[None] > 0.5)[0], strict=True):
            total += np.bitwise_count(words ^ word)
        return np.sqrt(total.astype(np.float64))

    def drawn(self, rng: Generator) -> np.ndarray:
        return np.asarray(np.where(rng.random(len(self._low)) < 0.5, self._low, self._high), dtype=float)


class Numbers:
    """Vectors of any numbers, in single precision: 64 of each cell of NAS-Bench-101 take 108 MB. `parts`: (n, d), one below the
    other. Those that are equal to five digits are the same."""

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        vectors = np.concatenate([part.astype(np.float32) for part in parts])
        self._low, self._high = vectors.min(axis=0).astype(float), vectors.max(axis=0).astype(float)
        width = max(float((self._high - self._low).max()), 1e-12)
        steps = np.round((vectors - self._low) * (1 / (ROUNDING * width))).astype(np.int32)
        _, first, self.place = np.unique(_rows(steps), return_index=True, return_inverse=True)
        vectors = vectors[first]
        # Around their mean: the smaller the products, the more exact are their differences.
        self._centre = vectors.mean(axis=0, dtype=float)
        vectors -= self._centre.astype(np.float32)
        self._vectors = vectors
        self._norms = np.einsum("nd,nd->n", vectors, vectors)
        self._rough = ROUGH * max(float(self._norms.max()), 1e-12)
        self.rounding = ROUNDING * width

    def of(self, point: np.ndarray) -> np.ndarray:
        shifted = (point - self._centre).astype(np.float32)
        found = (self._norms - 2 * (self._vectors @ shifted) + shifted @ shifted).astype(np.float64)
        near = np.flatnonzero(found <= self._rough)
        found[near] = ((self._vectors[near].astype(np.float64) - shifted) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(found, 0.0)))

    def drawn(self, rng: Generator) -> np.ndarray:
        return np.asarray(rng.uniform(self._low, self._high))


def distances(architectures: Sequence[Architecture], encoding: Encoding) -> Distances:
    """Those of the vectors of architectures: counted where all numbers are 0 or 1."""
    parts = [compact(encoding.encode(architectures[at : at + CHUNK])) for at in range(0, len(architectures), CHUNK)]
    return Bits(parts) if all(part.dtype == bool for part in parts) else Numbers(parts)


def compact(vectors: np.ndarray) -> np.ndarray:
    """Vectors as bits where all of them are, else in single precision."""
    bits = vectors > 0
    return bits if np.array_equal(bits, vectors) else vectors.astype(np.float32)


def _rows(steps: np.ndarray) -> np.ndarray:
    """Rows (n, d) as one value each, which can be compared for equality."""
    return np.ascontiguousarray(steps).view(np.dtype((np.void, steps.dtype.itemsize * steps.shape[1]))).ravel()
