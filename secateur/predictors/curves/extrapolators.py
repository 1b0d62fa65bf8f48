"""From the beginning of a training to its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from secateur.errors import ConfigurationError
from secateur.rng import generator


class Extrapolator(ABC):
    """Predicts the last value of curves at `budgets` (b,) from their first `seen`, `maximised` or not.

    It may learn from whole curves, told by `learn`; what it says before it has seen `needs` of them is worth nothing.
    """

    name: ClassVar[str]
    needs: ClassVar[int] = 0
    #: Whether it makes anything of other curves.
    learns: ClassVar[bool] = True

    def __init__(self, budgets: np.ndarray, seen: int, *, maximised: bool = False, seed: int = 0) -> None:
        if not 1 <= seen < len(budgets):
            raise ConfigurationError(f"a curve of {len(budgets)} points is extrapolated from 1…{len(budgets) - 1}, got {seen}.")
        self.budgets, self.seen, self.maximised, self.seed = np.asarray(budgets, dtype=np.float64), seen, maximised, seed

    def learn(self, inputs: np.ndarray, curves: np.ndarray) -> None:  # noqa: B027 - some look at one curve at a time
        """Learn from all whole curves (n, b) that are known, of architectures with these inputs (n, d)."""

    @abstractmethod
    def predict(self, inputs: np.ndarray, begun: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and deviations (k,) of the last values of curves whose beginnings (k, seen) are known. A deviation is NaN where
        it cannot be told."""


class LastValue(Extrapolator):
    """Curves end where they are, but for what those known have gained on average since."""

    name = "last"

    def __init__(self, budgets: np.ndarray, seen: int, *, maximised: bool = False, seed: int = 0) -> None:
        super().__init__(budgets, seen, maximised=maximised, seed=seed)
        self.gain, self.deviation = 0.0, np.nan

    def learn(self, inputs: np.ndarray, curves: np.ndarray) -> None:
        gains = curves[:, -1] - curves[:, self.seen - 1]
        self.gain = float(gains.mean()) if len(gains) else 0.0
        self.deviation = float(gains.std(ddof=1)) if len(gains) > 1 else np.nan

    def predict(self, inputs: np.ndarray, begun: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return begun[:, -1] + self.gain, np.full(len(begun), self.deviation)


class Learned(Extrapolator):
    """A predictor that learns from the beginnings of curves (values, their differences, a summary) and from architectures."""

    needs = 10

    @abstractmethod
    def _fitted(self, features: np.ndarray, ends: np.ndarray, seed: int) -> object:
        """What predicts ends (n, 1) from features (n, f)."""

    @abstractmethod
    def _predicted(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and deviations (k,) for features (k, f)."""

    def learn(self, inputs: np.ndarray, curves: np.ndarray) -> None:
        self.model = None
        if len(curves) >= self.needs:
            seed = int(generator(self.seed, self.name, len(curves)).integers(2**31))
            self.model = self._fitted(features_of(inputs, curves[:, : self.seen]), curves[:, -1:], seed)

    def predict(self, inputs: np.ndarray, begun: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.model is None:
            raise ConfigurationError(f"`{self.name}` learns from at least {self.needs} whole curves.")
        return self._predicted(features_of(inputs, begun))

    model: object | None = None


def features_of(inputs: np.ndarray, begun: np.ndarray) -> np.ndarray:
    """What is learnt from, (k, f): inputs (k, d), the values (k, t), their first and second differences (Baker et al. 2018),
    and a summary: the least, the largest and the mean value, and the slope of the last half."""
    first, second = np.diff(begun, axis=1), np.diff(begun, n=2, axis=1)
    half = begun[:, begun.shape[1] // 2 :]
    slope = (half[:, -1] - half[:, 0]) / max(half.shape[1] - 1, 1)
    summary = np.column_stack([begun.min(axis=1), begun.max(axis=1), begun.mean(axis=1), slope])
    return np.hstack([inputs, begun, first, second, summary])
