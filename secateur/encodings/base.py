"""What an encoding is: architectures as vectors that a predictor can learn from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.spaces.base import Space


class Encoding(ABC):
    """The architectures of one space as vectors; equal architectures have equal vectors.

    Raises ConfigurationError for a space that it cannot serve.
    """

    name: ClassVar[str]

    def __init__(self, space: Space) -> None:
        reason = self.refuses(space)
        if reason:
            raise ConfigurationError(reason)
        self.space = space

    @classmethod
    def refuses(cls, space: Space) -> str | None:
        """Why this encoding cannot serve a space, or None where it can."""
        return None

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The length d of a vector."""

    @abstractmethod
    def encode(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """The vectors (n, d), float64, in order; (0, d) for none."""
