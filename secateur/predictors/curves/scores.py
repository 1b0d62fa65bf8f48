"""How well predicted curves agree with those of trainings, at each step (Yan 2022, section 5.3)."""

from __future__ import annotations

import numpy as np

#: No variance is smaller than this: two trainings may agree to the last digit.
LEAST = 1e-12


def determination(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """R² at each step (b,) of predicted curves (n, b); NaN where all true ones are equal."""
    total = ((true - true.mean(axis=0)) ** 2).sum(axis=0)
    lacking = ((true - predicted) ** 2).sum(axis=0)
    return np.where(total > 0, 1 - lacking / np.where(total > 0, total, 1.0), np.nan)


def kendall(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Kendall's τ at each step (b,) of predicted curves (n, b); NaN where there is no order."""
    from scipy.stats import kendalltau

    return np.array([float(kendalltau(a, b).statistic) for a, b in zip(true.T, predicted.T, strict=True)])


def divergence(true: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """The Kullback-Leibler divergence at each step (b,) between trainings (s, b) and drawn curves (r, b) of one architecture,
    both taken to be normal and independent over steps: of the true distribution from the drawn one. Its mean over the steps is
    the text's figure."""
    mean, variance = true.mean(axis=0), np.maximum(true.var(axis=0, ddof=1), LEAST)
    other, spread = drawn.mean(axis=0), np.maximum(drawn.var(axis=0, ddof=1), LEAST)
    return np.asarray((np.log(spread / variance) - 1 + ((mean - other) ** 2 + variance) / spread) / 2)
