"""Spaces whose architectures can be spelt as sequences of one length: one choice after the other."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from secateur.architecture import Architecture


@runtime_checkable
class Spelt(Protocol):
    """`counts`: how many values each choice has."""

    @property
    def counts(self) -> list[int]: ...

    def indices(self, architecture: Architecture) -> np.ndarray:
        """The choices (d,) of an architecture, from 0; −1 for one that has no effect on it."""

    def from_indices(self, indices: np.ndarray) -> Architecture | None:
        """The architecture of choices (d,); None where they make none of the space."""
