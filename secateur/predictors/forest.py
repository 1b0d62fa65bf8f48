"""A random forest (Breiman 2001), by scikit-learn."""

from __future__ import annotations

import numpy as np

from secateur.errors import ConfigurationError
from secateur.predictors.base import Fitted, Predictor
from secateur.predictors.believing import believing
from secateur.predictors.ensemble import Ensemble
from secateur.predictors.spread import Spread


class Forest(Predictor):
    """`trees` trees, each on a bootstrap of the observations; deviations are as large as errors at what a bootstrap lacks."""

    name = "forest"

    def __init__(self, trees: int = 100) -> None:
        if trees < 2:
            raise ConfigurationError(f"`trees` must be at least 2, got {trees}.")
        self.trees = trees

    def fit(self, inputs: np.ndarray, targets: np.ndarray, *, waiting: np.ndarray, seed: int) -> Fitted:
        return believing(lambda x, y: self._fitted(x, y, seed), inputs, targets, waiting)

    def _fitted(self, inputs: np.ndarray, targets: np.ndarray, seed: int) -> Ensemble:
        from sklearn.ensemble import RandomForestRegressor

        flat = targets[:, 0] if targets.shape[1] == 1 else targets  # a column of one is warned of
        forest = RandomForestRegressor(self.trees, max_features=1 / 3, random_state=seed).fit(inputs, flat)

        def members(vectors: np.ndarray) -> np.ndarray:
            narrow = np.ascontiguousarray(vectors, dtype=np.float32)  # as the trees would make it, once for all
            return np.stack([t.tree_.predict(narrow).reshape(len(narrow), -1) for t in forest.estimators_])

        drawn = np.array(forest.estimators_samples_)
        return Ensemble(members, targets, Spread.out_of_bag(members(inputs), targets, drawn))
