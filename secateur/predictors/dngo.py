"""Deep networks for global optimisation, DNGO (Snoek et al. 2015): Bayesian linear regression on what a network has learnt."""

from __future__ import annotations

import numpy as np

from secateur.errors import ConfigurationError
from secateur.predictors.base import Fitted, Predictor
from secateur.predictors.bayesian_linear import BayesianLinear
from secateur.predictors.believing import believing
from secateur.predictors.perceptrons import Perceptrons, trained
from secateur.predictors.spread import Spread
from secateur.rng import Generator, generator

#: Fewer observations than this cannot spare a part of themselves.
FEWEST = 10


class Dngo(Predictor):
    """A network of `layers` × `width` units is trained on the targets, then its last hidden layer is the basis.

    Trained on the same targets, the basis fits them too well: after 100 observations of NAS-Bench-201, 7 % of held-out targets
    lie within one deviation as published. So `folds` further networks leave out a part of the observations each, and the
    deviations become as large as the errors there: 84 % then lie within one and 96 % within two. `folds=0` is as published.
    """

    name = "dngo"

    def __init__(self, width: int = 50, layers: int = 2, steps: int = 100, folds: int = 3) -> None:
        for name, value, least in (("width", width, 1), ("layers", layers, 1), ("steps", steps, 1), ("folds", folds, 0)):
            if value < least or (name == "folds" and value == 1):
                raise ConfigurationError(f"`{name}` must be at least {least}{', and not 1' * (name == 'folds')}, got {value}.")
        self.hidden, self.steps, self.folds = [width] * layers, steps, folds

    def fit(self, inputs: np.ndarray, targets: np.ndarray, *, waiting: np.ndarray, seed: int) -> Fitted:
        return believing(lambda x, y: self._fitted(x, y, generator(seed, "dngo")), inputs, targets, waiting)

    def _fitted(self, inputs: np.ndarray, targets: np.ndarray, rng: Generator) -> FittedDngo:
        n = len(targets)
        folds = self.folds if n >= FEWEST else 0
        place = rng.permutation(n) % max(folds, 1)
        seen = np.stack([place != fold for fold in range(folds)] + [np.full(n, True)])
        shares = seen[..., None] / (seen.sum(axis=1) * targets.shape[1])[:, None, None]
        networks = trained(
            inputs, targets, rng, hidden=self.hidden, members=len(seen), steps=self.steps, rate=0.02, decay=1.0, shares=shares
        )
        spread = None
        if folds:
            features = networks.hidden(inputs)
            held = [_held_out(features[fold], targets, seen[fold]) for fold in range(folds)]
            spread = Spread.of(*(np.concatenate(parts) for parts in zip(*held, strict=True)))
        return FittedDngo(networks.member(-1), inputs, targets, spread)


class FittedDngo(Fitted):
    """The network whose last hidden layer is the basis, and the regression on it; `spread`, where it was learnt."""

    def __init__(self, network: Perceptrons, inputs: np.ndarray, targets: np.ndarray, spread: Spread | None) -> None:
        self.network, self.targets, self.spread = network, targets, spread
        self.regression = BayesianLinear.of(network.hidden(inputs)[0], targets)

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
