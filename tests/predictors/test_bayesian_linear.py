"""Bayesian linear regression against the formulas written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from secateur.predictors.bayesian_linear import BayesianLinear

RNG = np.random.default_rng(0)


def data(n: int, f: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, f) and two targets (n, 2): one linear with noise, one of noise alone."""
    features = RNG.standard_normal((n, f))
    return features, np.column_stack([features[:, 0] - 0.5 + 0.3 * RNG.standard_normal(n), RNG.standard_normal(n)])


def design(features: np.ndarray) -> np.ndarray:
    return np.column_stack([features, np.ones(len(features))])


def likelihood(features: np.ndarray, target: np.ndarray, alpha: float, beta: float) -> float:
    covariance = np.eye(len(target)) / beta + design(features) @ design(features).T / alpha
    return float(multivariate_normal(np.zeros(len(target)), covariance).logpdf(target))


@pytest.mark.parametrize(("n", "f"), [(12, 3), (5, 9)], ids=["tall", "wide"])
def test_the_evidence_is_the_density_of_a_normal_distribution_and_no_precisions_have_more(n: int, f: int) -> None:
    features, targets = data(n, f)
    found = BayesianLinear.of(features, targets)
    for target, alpha, beta, evidence in zip(targets.T, found.alpha, found.beta, found.evidence, strict=True):
        assert evidence == pytest.approx(likelihood(features, target, alpha, beta))

        def loss(x: np.ndarray, y: np.ndarray = target) -> float:
            return -likelihood(features, y, *np.exp(np.clip(x, -12, 12)))

        best = max(-minimize(loss, start, method="Nelder-Mead").fun for start in ([0, 0], [3, 0], [0, 3]))
        assert evidence >= best - 0.01


@pytest.mark.parametrize(("n", "f"), [(12, 3), (5, 9)], ids=["tall", "wide"])
def test_the_posterior_is_that_of_the_textbook(n: int, f: int) -> None:
    features, targets = data(n, f)
    found, new = BayesianLinear.of(features, targets), RNG.standard_normal((4, f))
    means, deviations = found.predict(new)
    for place in range(2):
        precision = found.alpha[place] * np.eye(f + 1) + found.beta[place] * design(features).T @ design(features)
        mean = found.beta[place] * np.linalg.solve(precision, design(features).T @ targets[:, place])
        variance = np.einsum("kf,fg,kg->k", design(new), np.linalg.inv(precision), design(new)) + 1 / found.beta[place]
        assert means[:, place] == pytest.approx(design(new) @ mean)
        assert deviations[:, place] == pytest.approx(np.sqrt(variance))  # a deviation, not a variance


def test_a_constant_target_is_no_trouble() -> None:
    means, deviations = BayesianLinear.of(RNG.standard_normal((6, 2)), np.zeros((6, 1))).predict(np.ones((1, 2)))
    assert means == pytest.approx(0.0, abs=1e-6)
    assert np.isfinite(deviations).all()
    assert (deviations > 0).all()
