"""Acquisition functions of one objective: how worthwhile candidates are, by a predictor's means and deviations.

Each takes what was fitted, the reference point (which only several objectives need) and a seed, and gives scores: the larger,
the better. Targets are maximised and have deviation 1. The formulas are those of normal variables, so they are applied on the
scale where the model has such: a normal variable with the deviation of a skewed one promises far more above the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from secateur.predictors import Fitted
from secateur.rng import generator

#: Means (k,), deviations (k,) and the best target so far → scores (k,).
Formula = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
#: A deviation below this counts as this: keeps divisions finite.
LEAST = 1e-9


@dataclass(frozen=True)
class Scored:
    """Scores of encoded candidates (k, d) by a formula: logarithms or multiples of a deviation, to which chances are added."""

    fitted: Fitted
    formula: Formula
    additive = True

    def __call__(self, candidates: np.ndarray) -> np.ndarray:
        model = self.fitted.normal
        means, deviations = model.predict(candidates)
        return self.formula(means[:, 0], np.maximum(deviations[:, 0], LEAST), float(model.targets.max()))


def expected_improvement(fitted: Fitted, reference: np.ndarray, seed: int) -> Scored:
    """By how much a candidate is expected to exceed the best (Jones et al. 1998): the logarithm, which tells far ones apart."""
    return Scored(fitted, log_improvement)


def probability_of_improvement(fitted: Fitted, reference: np.ndarray, seed: int) -> Scored:
    """The logarithm of the chance that a candidate exceeds the best (Kushner 1964)."""
    return Scored(fitted, log_chance)


def predicted_mean(fitted: Fitted, reference: np.ndarray, seed: int) -> Scored:
    """What is predicted of a candidate, however unsure it is."""
    return Scored(fitted, lambda means, deviations, best: means)


def upper_confidence_bound(fitted: Fitted, reference: np.ndarray, seed: int, weight: float = 2.0) -> Scored:
    """The mean and `weight` deviations (Srinivas et al. 2010)."""
    return Scored(fitted, lambda means, deviations, best: means + weight * deviations)


#: Those whose scores are the same for every seed.
STEADY = (expected_improvement, probability_of_improvement, predicted_mean, upper_confidence_bound)


def thompson(fitted: Fitted, reference: np.ndarray, seed: int) -> Scored:
    """A draw for each candidate by itself: independent Thompson sampling, as BANANAS has it (White et al. 2021)."""
    rng = generator(seed, "thompson")
    return Scored(fitted, lambda means, deviations, best: rng.normal(means, deviations))


def log_improvement(means: np.ndarray, deviations: np.ndarray, best: float) -> np.ndarray:
    """log E max(0, x − best) of x normal, elementwise; finite however far the mean lies below the best (Ament et al. 2023)."""
    from scipy.special import erfcx, ndtr

    z = (means - best) / deviations
    # With z = (mean − best) / deviation it is log(φ(z) + z Φ(z)) + log deviation.
    near = np.maximum(z, -1.0)
    close = np.log(np.exp(-0.5 * near**2) / np.sqrt(2 * np.pi) + near * ndtr(near))
    # Below −1 as log φ(z) + log(1 + z Φ(z)/φ(z)): the ratio, by erfcx, does not underflow. Below −10,000 it is 1/z², rounded.
    far = np.clip(z, -1e4, -1.0)
    tail = np.where(z > -1e4, np.log1p(far * np.sqrt(np.pi / 2) * erfcx(-far / np.sqrt(2))), -2 * np.log(-np.minimum(z, -1.0)))
    return np.asarray(np.log(deviations) + np.where(z > -1, close, -0.5 * (z**2 + np.log(2 * np.pi)) + tail))


def log_chance(means: np.ndarray, deviations: np.ndarray, best: float) -> np.ndarray:
    """log P(x > best) of x normal, elementwise."""
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr((means - best) / deviations))
