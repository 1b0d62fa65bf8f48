"""Gradient-boosted trees fitted on the cells of a table, judged on cells that they did not see.

What is learnt is a logarithm, that of the error for accuracies in percent: a few trainings that failed would otherwise decide
how all others are told apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.errors import DataError
from secateur.predictors.boosting import lightgbm
from secateur.rng import generator

#: Parts of the cross-validation.
FOLDS = 5
#: Fewer cells have nothing to learn from.
LEAST = 50
#: Errors are counted from here, in percent: no accuracy has an error of 0.
ABOVE = 101.0
ROUNDS = 400
OPTIONS = {
    "objective": "regression",
    "num_leaves": 31,
    "learning_rate": 0.1,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "max_bin": 31,
    "seed": 0,
    "deterministic": True,
    "force_col_wise": True,
    "verbose": -1,
}


@dataclass(frozen=True)
class Trees:
    """Trees for one quantity, with Kendall's τ and the root of the mean squared error of its predictions on held-out cells."""

    booster: Any
    accuracy: bool
    kendall: float
    rmse: float

    def predict(self, features: np.ndarray) -> np.ndarray:
        """The predictions (n,) for features (n, d)."""
        return _told(self.booster.predict(features), self.accuracy)


def fit(features: np.ndarray, true: np.ndarray, *, accuracy: bool) -> Trees:
    """Fit trees on features (n, d) for a quantity (n,): an `accuracy` in percent, or something above 0.

    Raises DataError for too few cells, MissingExtraError.
    """
    from scipy.stats import kendalltau

    if len(features) < LEAST:
        raise DataError(f"a surrogate needs at least {LEAST} cells, got {len(features)}.")
    folds = generator(0, "surrogate").permutation(len(features)) % FOLDS
    held_out = np.empty(len(true))
    for fold in range(FOLDS):
        inside = folds != fold
        held_out[~inside] = _told(_trained(features[inside], true[inside], accuracy).predict(features[~inside]), accuracy)
    rmse = float(np.sqrt(np.mean((held_out - true) ** 2)))
    return Trees(_trained(features, true, accuracy), accuracy, float(kendalltau(true, held_out).statistic), rmse)


def _trained(features: np.ndarray, true: np.ndarray, accuracy: bool) -> Any:
    library = lightgbm()
    learnt = np.log(ABOVE - true) if accuracy else np.log(true)
    return library.train(dict(OPTIONS), library.Dataset(features, learnt), ROUNDS)


def _told(learnt: np.ndarray, accuracy: bool) -> np.ndarray:
    found: np.ndarray = np.exp(learnt)
    return ABOVE - found if accuracy else found
