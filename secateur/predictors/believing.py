"""What is being evaluated, taken for observed at the model's own mean (the kriging believer of Ginsbourger et al. 2010)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from secateur.predictors.base import Fitted


def believing(
    fit: Callable[[np.ndarray, np.ndarray], Fitted], inputs: np.ndarray, targets: np.ndarray, waiting: np.ndarray
) -> Fitted:
    """`fit(inputs (n, d), targets (n, m))`, done again with the means at `waiting` (p, d) among the targets, where any wait."""
    fitted = fit(inputs, targets)
    if not len(waiting):
        return fitted
    return fit(np.concatenate([inputs, waiting]), np.concatenate([targets, fitted.predict(waiting)[0]]))
