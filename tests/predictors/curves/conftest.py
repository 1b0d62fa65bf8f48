"""Learning curves of made-up trainings: three numbers decide a curve, up to noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from secateur.predictors.curves.known import Known
from secateur.rng import generator

BUDGETS = np.arange(1.0, 13.0)


@pytest.fixture(scope="session")
def trainings() -> Callable[..., Known]:
    def make(count: int = 60, seeds: int = 1, noise: float = 0.01, metrics: int = 1, seed: int = 0) -> Known:
        """Losses end + height · t^−rate, of which each of three inputs decides one."""
        rng = generator(seed, "trainings")
        inputs = np.repeat(rng.random((count, 3)), seeds, axis=0)
        end, height, rate = 1 + inputs[:, :1], 1 + 2 * inputs[:, 1:2], 0.3 + inputs[:, 2:]
        curves = np.stack([(1 + m) * (end + height * BUDGETS**-rate) for m in range(metrics)], axis=1)
        curves = curves + noise * rng.standard_normal(curves.shape)
        keys = tuple(f"{row // seeds}" for row in range(len(inputs)))
        return Known(inputs, curves, tuple("abc"[:metrics]), BUDGETS, keys)

    return make
