"""Learning from ranks: targets become normal quantiles, and what a model says of those is mapped back (Salinas et al. 2020).

A few networks that fail to train lie so far below all others that a model of the targets themselves learns little else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from secateur.predictors.base import Fitted

#: A normal distribution as Gauss-Hermite nodes and weights: with so many, moments are right to some hundredths of a deviation.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
WEIGHTS /= WEIGHTS.sum()
#: How far beyond the targets the map is given, in quantiles.
FAR = 1000.0


class Quantiles:
    """A rising map from targets (n,) to `quantiles` (n,), those of their ranks in a normal distribution, and back.

    It is straight between targets; beyond them, as steep as over the last unit before, so that the best can be exceeded.
    """

    def __init__(self, targets: np.ndarray) -> None:
        from scipy.special import ndtri

        values, places, counts = np.unique(targets, return_inverse=True, return_counts=True)
        knots = ndtri((np.cumsum(counts) - counts / 2) / len(targets))  # equal targets share the mean of their ranks
        self.quantiles: np.ndarray = knots[places]
        low, high = np.interp([knots[0] + 1, knots[-1] - 1], knots, values)
        slopes = (low - values[0], values[-1] - high) if len(values) > 1 else (1.0, 1.0)
        self._knots = np.concatenate([[knots[0] - FAR], knots, [knots[-1] + FAR]])
        self._values = np.concatenate([[values[0] - FAR * slopes[0]], values, [values[-1] + FAR * slopes[1]]])

    def back(self, quantiles: np.ndarray) -> np.ndarray:
        """The targets of quantiles, of any shape."""
        return np.asarray(np.interp(quantiles, self._knots, self._values))

    def moments(self, means: np.ndarray, deviations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The means and deviations (k,) of targets whose quantiles are normal, with these means and deviations (k,)."""
        mapped = self.back(means[:, None] + deviations[:, None] * NODES)
        found = mapped @ WEIGHTS
        return found, np.sqrt((mapped - found[:, None]) ** 2 @ WEIGHTS)


class OnQuantiles(Fitted):
    """`fit(quantiles (n, m))` gives the model of the quantiles of `targets` (n, m), each column by itself."""

    def __init__(self, fit: Callable[[np.ndarray], Fitted], targets: np.ndarray) -> None:
        self.targets = targets
        self.maps = [Quantiles(column) for column in targets.T]
        self._model = fit(np.column_stack([one.quantiles for one in self.maps]))

    @property
    def normal(self) -> Fitted:
        return self._model

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means, deviations = self._model.predict(inputs)
        each = [one.moments(*both) for one, *both in zip(self.maps, means.T, deviations.T, strict=True)]
        found, spread = (np.column_stack(several) for several in zip(*each, strict=True))
        return found, spread
