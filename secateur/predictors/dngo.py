"""Deep networks for global optimisation, DNGO (Snoek et al. 2015): Bayesian linear regression on what a network has learnt."""

from __future__ import annotations

import numpy as np

from secateur.errors import ConfigurationError
from secateur.predictors.base import Fitted, Predictor
from secateur.predictors.basis import BasisRegression, left_out
from secateur.predictors.believing import believing
from secateur.predictors.perceptrons import trained
from secateur.predictors.quantiles import OnQuantiles
from secateur.rng import Generator, generator


class Dngo(Predictor):
    """A network of `layers` × `width` units is trained on the targets' quantiles, then its last hidden layer is the basis.

    Trained on the same targets, the basis fits them too well: after 100 observations of NAS-Bench-201, 3 % of held-out targets
    lie within one of the regression's deviations. So `folds` further networks leave out a part of the observations each, and
    deviations become as large as the errors there: 85 % then lie within one and 96 % within two. `folds=0` has the regression's
    own deviations, as published.
    """

    name = "dngo"

    def __init__(self, width: int = 50, layers: int = 3, steps: int = 100, folds: int = 3) -> None:
        for name, value, least in (("width", width, 1), ("layers", layers, 1), ("steps", steps, 1), ("folds", folds, 0)):
            if value < least or (name == "folds" and value == 1):
                raise ConfigurationError(f"`{name}` must be at least {least}{', and not 1' * (name == 'folds')}, got {value}.")
        self.hidden, self.steps, self.folds = [width] * layers, steps, folds

    def fit(self, inputs: np.ndarray, targets: np.ndarray, *, waiting: np.ndarray, seed: int) -> Fitted:
        def fit(x: np.ndarray, y: np.ndarray) -> Fitted:
            return OnQuantiles(lambda quantiles: self._fitted(x, quantiles, generator(seed, "dngo")), y)

        return believing(fit, inputs, targets, waiting)

    def _fitted(self, inputs: np.ndarray, targets: np.ndarray, rng: Generator) -> Fitted:
        seen = left_out(len(targets), self.folds, rng)
        shares = seen[..., None] / (seen.sum(axis=1) * targets.shape[1])[:, None, None]
        networks = trained(
            inputs,
            targets,
            rng,
            hidden=self.hidden,
            members=len(seen),
            loss="absolute",  # ranks are a little better than by squared errors
            steps=self.steps,
            rate=0.02,
            decay=1.0,
            shares=shares,
        )
        return BasisRegression(networks, inputs, targets, seen)
