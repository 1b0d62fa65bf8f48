"""Deviations that are as large as errors on data held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

#: How much of a variance may be the model's own doubt, in parts of the noise: some of both always is.
RATIOS = np.logspace(-2, 2, 41)
#: Fewer errors than this say nothing.
FEWEST = 5


@dataclass(frozen=True)
class Spread:
    """variance of an error = noise + factor · the variance that a model claims, for each of m targets by itself.

    A model that has all but learnt its observations by heart claims next to nothing. What it claims still says where it knows
    less; how much that means is learnt from what it had not seen.
    """

    noise: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, errors: np.ndarray, variances: np.ndarray) -> Self:
        """The likeliest, of normal errors (n, m) on data held out and the variances (n, m) that the model claimed there."""
        scale = variances.mean(axis=0)
        relative = variances / np.where(scale > 0, scale, 1.0)
        shapes = 1 + RATIOS[:, None, None] * relative
        sizes = np.maximum((errors**2 / shapes).mean(axis=1), 1e-12)
        best = np.argmin(np.log(sizes) + np.log(shapes).mean(axis=1), axis=0)
        noise = np.take_along_axis(sizes, best[None], axis=0)[0]
        return cls(noise, noise * RATIOS[best] / np.where(scale > 0, scale, 1.0))

    @classmethod
    def out_of_bag(cls, predicted: np.ndarray, targets: np.ndarray, drawn: np.ndarray) -> Self | None:
        """Of the members of an ensemble that had not drawn an observation; None where hardly any observation has two such.

        `predicted` (members, n, m), `targets` (n, m), and the rows `drawn` (members, n) that each member was fitted to.
        """
        out = np.array([~np.isin(np.arange(len(targets)), rows) for rows in drawn])
        enough = out.sum(axis=0) >= 2
        if enough.sum() < FEWEST:
            return None
        kept = np.where(out[..., None], predicted, np.nan)[:, enough]
        return cls.of(targets[enough] - np.nanmean(kept, axis=0), np.nanvar(kept, axis=0, ddof=1))

    def deviations(self, variances: np.ndarray) -> np.ndarray:
        """Deviations (k, m) for claimed variances (k, m)."""
        return np.asarray(np.sqrt(self.noise + self.factor * variances))
