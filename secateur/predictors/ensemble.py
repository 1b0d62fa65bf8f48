"""What several models say together: the mean, and how far apart they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from secateur.predictors.base import Fitted
from secateur.predictors.spread import Spread

#: What an ensemble of one mind still deviates by, on targets with deviation 1: acquisition functions divide by it.
LEAST = 1e-3


class Ensemble(Fitted):
    """`members(inputs (k, d))` are the predictions (members, k, m); `spread`, where there is one, corrects their variance."""

    def __init__(self, members: Callable[[np.ndarray], np.ndarray], targets: np.ndarray, spread: Spread | None = None) -> None:
        self.members, self.targets, self.spread = members, targets, spread

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        each = self.members(inputs)
        variances = each.var(axis=0, ddof=1)
        deviations = np.sqrt(variances) if self.spread is None else self.spread.deviations(variances)
        return each.mean(axis=0), np.maximum(deviations, LEAST)
