"""An encoding whose dimensions are alike: each with mean 0 and deviation 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings.base import Encoding
from secateur.rng import generator
from secateur.spaces.base import Space


class Standardised(Encoding):
    """Another encoding, shifted and scaled by what 2,000 draws of the space have; what is the same in all is not scaled."""

    draws = 2000

    def __init__(self, space: Space, encoding: Encoding) -> None:
        super().__init__(space)
        self.encoding = encoding
        self.name = encoding.name  # type: ignore[misc]
        vectors = encoding.encode(space.sample_many(self.draws, generator(0, "standardise")))
        deviation = vectors.std(axis=0)
        self._mean, self._deviation = vectors.mean(axis=0), np.where(deviation > 1e-12, deviation, 1.0)

    @property
    def dimensions(self) -> int:
        return self.encoding.dimensions

    def encode(self, architectures: Sequence[Architecture]) -> np.ndarray:
        return np.asarray((self.encoding.encode(architectures) - self._mean) / self._deviation)
