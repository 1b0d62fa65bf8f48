"""Figures of predicted curves against other libraries, and what is said of residuals against known processes."""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import kendalltau
from sklearn.metrics import r2_score

from secateur.predictors.curves.assumptions import BARS, Residuals
from secateur.predictors.curves.scores import determination, divergence, kendall
from secateur.rng import generator


def test_determination_and_order_are_those_of_other_libraries() -> None:
    rng = generator(0, "scores")
    true = rng.random((50, 4))
    predicted = true + 0.3 * rng.standard_normal(true.shape)
    assert np.allclose(determination(true, predicted), r2_score(true, predicted, multioutput="raw_values"))
    assert np.allclose(kendall(true, predicted), [kendalltau(true[:, s], predicted[:, s]).statistic for s in range(4)])
    true[:, 0] = 1.0
    assert np.isnan(determination(true, predicted)[0])


def test_the_divergence_is_that_of_torch() -> None:
    rng = generator(0, "kl")
    true, drawn = rng.standard_normal((5, 3)), 1 + 2 * rng.standard_normal((100, 3))
    normal = torch.distributions.Normal
    p, q = (normal(torch.tensor(x.mean(axis=0)), torch.tensor(x.std(axis=0, ddof=1))) for x in (true, drawn))
    assert np.allclose(divergence(true, drawn), torch.distributions.kl_divergence(p, q).numpy())
    assert (divergence(true, true) == 0).all()
    assert np.isfinite(divergence(np.ones((2, 3)), drawn)).all()


def test_residuals_of_known_processes() -> None:
    rng = generator(0, "residuals")
    white = Residuals(rng.standard_normal((2000, 40)))
    assert np.abs(white.autocorrelation()[1:5] + 1 / 40).max() < 0.02  # that of a mean that was taken from the same steps
    assert np.allclose(white.deviations(), 1, atol=0.1)
    walk = np.zeros((2000, 200))
    for step in range(1, 200):
        walk[:, step] = 0.8 * walk[:, step - 1] + rng.standard_normal(2000)
    assert abs(Residuals(walk[:, 50:]).autocorrelation()[1] - 0.8) < 0.05
    bars, ends = white.histogram(3)
    assert len(bars) == BARS
    assert np.isclose((bars * np.diff(ends)).sum(), 1)
    assert np.isnan(Residuals(np.zeros((3, 4))).autocorrelation()).all()
