"""Curves as a few numbers, and back: less to predict, and less of the noise of single trainings (Yan 2022, section 5.3)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Self

import numpy as np

from secateur.errors import ConfigurationError
from secateur.predictors.curves.part import ArraysPart


class Compressor(ArraysPart):
    """From curves (n, d) to codes (n, k) and back."""

    @classmethod
    @abstractmethod
    def fitted(cls, curves: np.ndarray, components: int, seed: int) -> Self:
        """Fitted to curves (n, d), with k = `components`. Raises ConfigurationError where there are fewer curves or steps."""

    @abstractmethod
    def compress(self, curves: np.ndarray) -> np.ndarray:
        """The codes (n, k) of curves (n, d)."""

    @abstractmethod
    def expand(self, codes: np.ndarray) -> np.ndarray:
        """The curves (n, d) of codes (n, k)."""


class Svd(Compressor):
    """The truncated singular value decomposition of the matrix of curves: the best linear compression there is."""

    name = "svd"

    def __init__(self, basis: np.ndarray) -> None:
        #: The first right singular vectors (k, d).
        self.basis = basis

    @classmethod
    def fitted(cls, curves: np.ndarray, components: int, seed: int) -> Self:
        check_components(curves, components)
        return cls(np.linalg.svd(curves, full_matrices=False)[2][:components])

    def compress(self, curves: np.ndarray) -> np.ndarray:
        return np.asarray(curves @ self.basis.T)

    def expand(self, codes: np.ndarray) -> np.ndarray:
        return np.asarray(codes @ self.basis)

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {"basis": self.basis}

    @classmethod
    def of(cls, **arrays: np.ndarray) -> Self:
        return cls(**arrays)


def check_components(curves: np.ndarray, components: int) -> None:
    """Raise ConfigurationError where curves (n, d) cannot have so many components."""
    most = min(curves.shape)
    if not 1 <= components <= most:
        n, steps = curves.shape
        raise ConfigurationError(
            f"`components` must lie in 1…{most}: there are {n} curves of {steps} points to learn from, got {components}."
        )
