"""Bayesian linear regression on what networks have learnt, with deviations as large as errors on data held out."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from secateur.predictors.base import Fitted
from secateur.predictors.bayesian_linear import BayesianLinear
from secateur.predictors.spread import Spread
from secateur.rng import Generator

#: Fewer observations than this cannot spare a part of themselves.
FEWEST = 10


class Basis(Protocol):
    """Networks of one shape side by side."""

    def hidden(self, inputs: np.ndarray) -> np.ndarray:
        """The last hidden layer (members, k, width) of inputs (k, d)."""

    def member(self, place: int) -> Basis:
        """One of them alone."""


def left_out(n: int, folds: int, rng: Generator) -> np.ndarray:
    """Which of n observations each network sees (folds + 1, n): all but a part in the folds, and in the end all of them."""
    folds = folds if n >= FEWEST else 0
    place = rng.permutation(n) % max(folds, 1)
    return np.stack([place != fold for fold in range(folds)] + [np.full(n, True)])


class BasisRegression(Fitted):
    """The last of the networks is the basis; the others, each trained on what it has `seen`, tell how large errors are."""

    def __init__(self, networks: Basis, inputs: np.ndarray, targets: np.ndarray, seen: np.ndarray) -> None:
        features = networks.hidden(inputs)
        held = [_held_out(one, targets, known) for one, known in zip(features[:-1], seen[:-1], strict=True)]
        self.spread = Spread.of(*(np.concatenate(parts) for parts in zip(*held, strict=True))) if held else None
        self.network, self.targets = networks.member(-1), targets
        self.regression = BayesianLinear.of(features[-1], targets)

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means, variances = self.regression.moments(self.network.hidden(inputs)[0])
        if self.spread is None:
            return means, np.sqrt(variances + 1 / self.regression.beta)
        return means, self.spread.deviations(variances)


def _held_out(features: np.ndarray, targets: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Errors and claimed variances at what a regression on the rest has not seen."""
    regression = BayesianLinear.of(features[seen], targets[seen])
    means, variances = regression.moments(features[~seen])
    return targets[~seen] - means, variances
