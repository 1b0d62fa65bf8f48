"""The space's own coordinates: each dimension scaled to 0…1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings.base import Encoding


class UnitCube(Encoding):
    """The points of a space in the unit cube, as `Space.encode_many` gives them."""

    name = "vector"

    @property
    def dimensions(self) -> int:
        return self.space.dimensions

    def encode(self, architectures: Sequence[Architecture]) -> np.ndarray:
        return self.space.encode_many(architectures)
