"""Parametric families of learning curves that rise to an end (Domhan et al. 2015, table 1), for many parameters at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: x (t,) and parameters, each (w, 1) → values (w, t).
Form = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Family:
    """A form, and for each of its parameters the lowest, a usual and the highest value."""

    name: str
    form: Form
    ranges: tuple[tuple[float, float, float], ...]

    def __call__(self, x: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Values (w, t) at x (t,) for parameters (w, p)."""
        return np.asarray(self.form(x[None], *parameters.T[:, :, None]))


def _power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(np.clip(exponent * np.log(np.maximum(base, 1e-12)), -50, 50)))


def _exp(value: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(np.clip(value, -50, 50)))


FAMILIES = (
    Family(
        "vapor pressure",
        lambda x, a, b, c: _exp(a + b / x + c * np.log(x)),
        ((-5.0, -0.5, 2.0), (-5.0, -0.5, 2.0), (-1.0, 0.0, 1.0)),
    ),
    Family("pow3", lambda x, c, a, alpha: c - a * _power(x, -alpha), ((-1.0, 0.6, 2.0), (-1.0, 0.5, 3.0), (0.001, 0.5, 5.0))),
    Family("log log linear", lambda x, a, b: np.log(np.maximum(a * np.log(x) + b, 1e-6)), ((0.0, 0.2, 5.0), (0.1, 1.2, 5.0))),
    Family(
        "hill3",
        lambda x, top, eta, kappa: top * _power(x, eta) / (_power(kappa, eta) + _power(x, eta)),
        ((0.0, 0.6, 2.0), (0.01, 0.6, 5.0), (0.001, 0.7, 50.0)),
    ),
    Family(
        "log power",
        lambda x, a, b, c: a / (1 + _power(x / _exp(b), c)),
        ((0.0, 0.7, 2.0), (-5.0, 0.5, 5.0), (-5.0, -0.6, 0.0)),
    ),
    Family(
        "pow4",
        lambda x, c, a, b, alpha: c - _power(a * x + b, -alpha),
        ((-1.0, 0.8, 2.0), (0.0, 1.0, 50.0), (0.0, 1.0, 50.0), (0.001, 0.5, 5.0)),
    ),
    Family(
        "mmf",
        lambda x, end, start, kappa, delta: end - (end - start) / (1 + _power(kappa * x, delta)),
        ((0.0, 0.7, 2.0), (-1.0, 0.0, 1.0), (0.001, 0.5, 50.0), (0.01, 0.8, 5.0)),
    ),
    Family(
        "exp4",
        lambda x, c, a, b, alpha: c - _exp(-a * _power(x, alpha) + b),
        ((-1.0, 0.6, 2.0), (0.0, 0.5, 10.0), (-5.0, 0.0, 5.0), (0.01, 0.5, 3.0)),
    ),
    Family(
        "janoschek",
        lambda x, end, start, kappa, delta: end - (end - start) * _exp(-kappa * _power(x, delta)),
        ((0.0, 0.6, 2.0), (-1.0, 0.0, 1.0), (0.0, 0.5, 10.0), (0.01, 0.5, 3.0)),
    ),
    Family(
        "weibull",
        lambda x, end, start, kappa, delta: end - (end - start) * _exp(-_power(kappa * x, delta)),
        ((0.0, 0.6, 2.0), (-1.0, 0.0, 1.0), (0.001, 0.5, 10.0), (0.01, 0.5, 3.0)),
    ),
    Family("ilog2", lambda x, c, a: c - a / np.log(x + 1), ((-1.0, 0.7, 2.0), (-1.0, 0.4, 3.0))),
)
