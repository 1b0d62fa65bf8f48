"""Bayesian linear regression in closed form, its two precisions by maximum marginal likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

#: Where the ratio of the precisions, alpha to beta, is looked for: its logarithms, and how finely at first.
LOGARITHMS = np.linspace(-14.0, 14.0, 113)


@dataclass(frozen=True)
class Spectrum:
    """What the evidence of one target needs of features and target, n of them.

    `squares` (r,) are the squared singular values of the features, `projected` (r,) the squares of the target's coordinates
    along the left singular vectors, `rest` what the target has beyond them, squared.
    """

    squares: np.ndarray
    projected: np.ndarray
    rest: float
    n: int

    def beta(self, ratio: float) -> float:
        """The likeliest precision of the noise where that of the weights is `ratio` times as large."""
        left = self.rest + float((self.projected * ratio / (ratio + self.squares)).sum())
        return self.n / max(left, 1e-12 * self.n)

    def evidence(self, alpha: float, beta: float) -> float:
        """The logarithm of the marginal likelihood: the target is N(0, 1/beta + features · featuresᵀ / alpha)."""
        variances = 1 / beta + self.squares / alpha
        logarithms = np.log(variances).sum() - (self.n - len(self.squares)) * np.log(beta) + self.n * np.log(2 * np.pi)
        return float(-0.5 * (logarithms + (self.projected / variances).sum() + beta * self.rest))

    def likeliest(self) -> tuple[float, float]:
        """The alpha and beta of the largest evidence: for each ratio beta is known, so one number is searched for."""
        from scipy.optimize import minimize_scalar

        def loss(logarithm: float) -> float:
            beta = self.beta(float(np.exp(logarithm)))
            return -self.evidence(float(np.exp(logarithm)) * beta, beta)

        best = LOGARITHMS[int(np.argmin([loss(x) for x in LOGARITHMS]))]
        step = LOGARITHMS[1] - LOGARITHMS[0]
        ratio = float(np.exp(minimize_scalar(loss, bounds=(best - step, best + step), method="bounded").x))
        return ratio * self.beta(ratio), self.beta(ratio)


@dataclass(frozen=True)
class BayesianLinear:
    """target = features · weights + noise, for each of m targets by itself; a column of ones is added to the features.

    Weights have the prior N(0, 1/alpha), noise is N(0, 1/beta), (m,) each; `evidence` (m,) is the log marginal likelihood.
    `weights` (f + 1, m) are the means of the posterior. Its variance is 1 / (alpha + beta · squares) along the columns of
    `directions` (f + 1, r), and the prior's across.
    """

    alpha: np.ndarray
    beta: np.ndarray
    evidence: np.ndarray
    weights: np.ndarray
    directions: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray, targets: np.ndarray) -> Self:
        """Fitted to `targets` (n, m) at `features` (n, f)."""
        left, singular, right = np.linalg.svd(_with_ones(features), full_matrices=False)
        along, squares = left.T @ targets, singular**2
        rest = np.maximum((targets**2).sum(axis=0) - (along**2).sum(axis=0), 0.0)
        spectra = [Spectrum(squares, a**2, float(r), len(targets)) for a, r in zip(along.T, rest, strict=True)]
        alpha, beta = np.array([s.likeliest() for s in spectra]).T
        evidence = np.array([s.evidence(a, b) for s, a, b in zip(spectra, alpha, beta, strict=True)])
        weights = right.T @ (along * singular[:, None] / (squares[:, None] + alpha / beta))
        return cls(alpha, beta, evidence, weights, right.T, squares)

    def predict(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and deviations (k, m) of targets at features (k, f), the noise included."""
        means, variances = self.moments(features)
        return means, np.sqrt(variances + 1 / self.beta)

    def moments(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances (k, m) of features · weights, without the noise."""
        design = _with_ones(features)
        along = (design @ self.directions) ** 2
        across = np.maximum((design**2).sum(axis=1) - along.sum(axis=1), 0.0)
        variances = along @ (1 / (self.alpha + self.beta * self.squares[:, None])) + across[:, None] / self.alpha
        return design @ self.weights, variances


def _with_ones(features: np.ndarray) -> np.ndarray:
    return np.column_stack([features, np.ones(len(features))])
