"""Extrapolators that learn from other trainings: support vector regression, and a Gaussian process."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur.predictors.curves.extrapolators import Learned
from secateur.predictors.gaussian_process import GaussianProcess

#: Values that are tried: of the penalty, of the kernel's width (over the number of features), of the share of support vectors.
PENALTIES, WIDTHS, SHARES = (1.0, 10.0, 100.0, 1000.0), (0.03, 0.1, 0.3, 1.0), (0.3, 0.7)
#: Parts of the cross-validation; it is done again when there are so many times more curves.
FOLDS, AGAIN = 5, 1.5


class Svr(Learned):
    """Support vector regression on curves and architectures, LcSVR (Baker et al. 2018), its settings by cross-validation.

    The deviation is that of the errors in the cross-validation, the same for all.
    """

    name = "svr"

    chosen: tuple[int, dict[str, float]] | None = None

    def _fitted(self, features: np.ndarray, ends: np.ndarray, seed: int) -> Any:
        from sklearn.base import clone
        from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import NuSVR

        centre, spread = float(ends.mean()), float(ends.std()) or 1.0
        targets = (ends[:, 0] - centre) / spread
        folds = KFold(FOLDS, shuffle=True, random_state=seed)
        pipeline = make_pipeline(StandardScaler(), NuSVR(cache_size=50))
        if self.chosen is None or len(features) >= AGAIN * self.chosen[0]:
            grid = {
                "nusvr__C": PENALTIES,
                "nusvr__gamma": [width / features.shape[1] for width in WIDTHS],
                "nusvr__nu": SHARES,
            }
            found = GridSearchCV(pipeline, grid, scoring="neg_mean_squared_error", cv=folds, refit=False).fit(features, targets)
            self.chosen = len(features), found.best_params_
        pipeline.set_params(**self.chosen[1])
        errors = cross_val_predict(clone(pipeline), features, targets, cv=folds) - targets
        return pipeline.fit(features, targets), centre, spread, float(np.sqrt((errors**2).mean())) * spread

    def _predicted(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model: Any = self.model
        pipeline, centre, spread, deviation = model
        return np.asarray(pipeline.predict(features) * spread + centre), np.full(len(features), deviation)


class Process(Learned):
    """A Gaussian process on curves and architectures."""

    name = "gp"

    def __init__(self, budgets: np.ndarray, seen: int, *, maximised: bool = False, seed: int = 0) -> None:
        super().__init__(budgets, seen, maximised=maximised, seed=seed)
        self.process = GaussianProcess()

    def _fitted(self, features: np.ndarray, ends: np.ndarray, seed: int) -> Any:
        least, width = features.min(axis=0), np.ptp(features, axis=0)
        width = np.where(width > 0, width, 1.0)
        centre, spread = float(ends.mean()), float(ends.std()) or 1.0
        waiting = np.zeros((0, features.shape[1]))
        targets = (ends - centre) / spread
        fitted = self.process.fit((features - least) / width, targets, waiting=waiting, seed=seed)
        return fitted, least, width, centre, spread

    def _predicted(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model: Any = self.model
        fitted, least, width, centre, spread = model
        if fitted is None:  # no process fits: what is known is how the ends are spread
            return np.full(len(features), centre), np.full(len(features), spread)
        means, deviations = fitted.predict((features - least) / width)
        return means[:, 0] * spread + centre, deviations[:, 0] * spread
