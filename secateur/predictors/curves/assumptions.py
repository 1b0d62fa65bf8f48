"""Do the assumptions of noise models hold? Residuals should be normal, and hardly correlated from step to step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Bars of a histogram.
BARS = 30


@dataclass(frozen=True)
class Residuals:
    """Of one metric, what compressed curves lack of their trainings: (n, b)."""

    values: np.ndarray

    def histogram(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Densities (BARS,) at one step, and the ends (BARS + 1,) of the bars."""
        found, ends = np.histogram(self.values[:, step], bins=BARS, density=True)
        return found, ends

    def deviations(self) -> np.ndarray:
        """The deviation at each step (b,)."""
        return np.asarray(self.values.std(axis=0))

    def autocorrelation(self) -> np.ndarray:
        """By how many steps two residuals lie apart → their correlation (b,), the mean over trainings; 1 at none."""
        apart = self.values - self.values.mean(axis=1, keepdims=True)
        power = (apart**2).sum(axis=1)
        kept = apart[power > 0]
        steps = self.values.shape[1]
        found = [(kept[:, : steps - lag] * kept[:, lag:]).sum(axis=1) / power[power > 0] for lag in range(steps)]
        return np.array([float(values.mean()) if len(values) else np.nan for values in found])
