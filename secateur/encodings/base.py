"""What an encoding is: architectures as vectors that a predictor can learn from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from secateur.architecture import Architecture


class Encoding(ABC):
    """Equal networks have equal vectors."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The length d of a vector."""

    @abstractmethod
    def encode(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """The vectors (n, d), float64, in order; (0, d) for none."""
