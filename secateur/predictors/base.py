"""What a predictor is: fitted to observations, it gives a mean and a deviation for anything else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from secateur.encodings import Encoding


class Fitted(ABC):
    """A predictor that has seen observations. `targets` (n, m) are those it rests on, believed ones included."""

    targets: np.ndarray

    @property
    def normal(self) -> Fitted:
        """The model on the scale, rising with the targets' own, on which it takes what would be observed to be normal."""
        return self

    @abstractmethod
    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and deviations, (k, m) each, of what would be observed at vectors (k, d): noise is part of a deviation."""


class Predictor(ABC):
    """A way to learn from vectors and targets."""

    name: ClassVar[str]

    @classmethod
    def refuses(cls, encoding: Encoding) -> str | None:
        """Why it cannot learn from the vectors of an encoding, or None where it can."""
        return None

    def for_encoding(self, encoding: Encoding) -> Predictor:
        """This predictor, told of the encoding whose vectors it will get; most learn from any vectors."""
        return self

    @abstractmethod
    def fit(self, inputs: np.ndarray, targets: np.ndarray, *, waiting: np.ndarray, seed: int) -> Fitted | None:
        """Fitted to `targets` (n, m) at `inputs` (n, d); None where that cannot be done.

        `waiting` (p, d) are being evaluated: the model's mean stands for what they will bring (Ginsbourger et al. 2010 call it
        the kriging believer), so that the next proposal looks elsewhere. `seed` is of all that is random.
        """
