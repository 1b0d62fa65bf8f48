"""How single trainings differ from the curve that is predicted of them (Yan 2022, section 5.3).

Three models are the text's, from what a compressed curve lacks of its training: a deviation for each step, a kernel density
over whole residuals, and a deviation that depends on the architecture. What the compression keeps of a training's noise, such
as a better or worse end, none of them can see; the fourth one is fitted to trainings of one architecture with several seeds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Self

import numpy as np

from secateur.errors import ConfigurationError
from secateur.predictors.curves.known import Known
from secateur.predictors.curves.part import ArraysPart
from secateur.rng import Generator

#: Deviations of a normal distribution between which nine tenths lie.
BAND = 1.6448536
#: Steps that a deviation of the sliding window is of.
WINDOW = 10
#: No deviation is smaller than this share of the mean one: logarithms are taken.
FLOOR = 1e-3


class Noise(ArraysPart):
    """Noise of m metrics at b steps."""

    @classmethod
    @abstractmethod
    def fitted(cls, known: Known, rebuilt: np.ndarray) -> Self:
        """Fitted to trainings, and to their curves (n, m, b) as they come back from compression. Raises ConfigurationError."""

    @abstractmethod
    def draw(self, inputs: np.ndarray, rngs: list[Generator]) -> np.ndarray:
        """Noise (n, m, b) for inputs (n, d), each by its own generator."""

    @abstractmethod
    def deviation(self, inputs: np.ndarray) -> np.ndarray:
        """The deviations (n, m, b) of the noise for inputs (n, d)."""


class PerStep(Noise):
    """Independent normal noise, of the same deviation for all architectures, at each step."""

    name = "deviation"

    def __init__(self, deviations: np.ndarray) -> None:
        self.deviations = deviations

    @classmethod
    def fitted(cls, known: Known, rebuilt: np.ndarray) -> Self:
        if len(known) < 2:
            raise ConfigurationError(f"noise needs at least 2 trainings, got {len(known)}.")
        residuals = known.curves - rebuilt
        return cls(np.sqrt((residuals**2).sum(axis=0) / (len(known) - 1)))

    def draw(self, inputs: np.ndarray, rngs: list[Generator]) -> np.ndarray:
        return np.asarray(np.stack([rng.standard_normal(self.deviations.shape) for rng in rngs]) * self.deviations)

    def deviation(self, inputs: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.deviations, (len(inputs), *self.deviations.shape))

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {"deviations": self.deviations}

    @classmethod
    def of(cls, **arrays: np.ndarray) -> Self:
        return cls(**arrays)


class KernelDensity(Noise):
    """A Gaussian kernel density over residuals of whole trainings: steps and metrics go together as they did there."""

    name = "kde"

    def __init__(self, residuals: np.ndarray, factor: np.ndarray) -> None:
        #: Residuals (n, m, b), and the factor (m · b, m · b) whose square is the kernel's covariance.
        self.residuals, self.factor = residuals, factor

    @classmethod
    def fitted(cls, known: Known, rebuilt: np.ndarray) -> Self:
        return cls._around(known.curves - rebuilt)

    @classmethod
    def _around(cls, residuals: np.ndarray, narrower: bool = False) -> Self:
        """The kernel widens what it is put around; `narrower` moves residuals together by as much."""
        if len(residuals) < 2:
            raise ConfigurationError(f"noise needs at least 2 trainings, got {len(residuals)}.")
        flat = residuals.reshape(len(residuals), -1)
        n, d = flat.shape
        scott = n ** (-1 / (d + 4))  # Scott's rule, as scipy's own
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(flat, rowvar=False)))  # singular where there are few
        kept = residuals * np.sqrt(1 - scott**2) if narrower else residuals
        return cls(kept, vectors * (scott * np.sqrt(np.maximum(values, 0.0))))

    def draw(self, inputs: np.ndarray, rngs: list[Generator]) -> np.ndarray:
        chosen = np.array([rng.integers(len(self.residuals)) for rng in rngs], dtype=int)
        normal = np.stack([rng.standard_normal(len(self.factor)) for rng in rngs])
        kernel = (normal @ self.factor.T).reshape(-1, *self.residuals.shape[1:])
        return np.asarray(self.residuals[chosen] + kernel)

    def deviation(self, inputs: np.ndarray) -> np.ndarray:
        kernel = (self.factor**2).sum(axis=1).reshape(self.residuals.shape[1:])
        found = np.sqrt(self.residuals.var(axis=0) + kernel)
        return np.broadcast_to(found, (len(inputs), *found.shape))

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {"residuals": self.residuals, "factor": self.factor}

    @classmethod
    def of(cls, **arrays: np.ndarray) -> Self:
        return cls(**arrays)


class Seeds(KernelDensity):
    """The same over what trainings of one architecture differ by from their mean, where several seeds were trained; of their
    own deviation."""

    name = "seeds"

    @classmethod
    def fitted(cls, known: Known, rebuilt: np.ndarray) -> Self:
        found = []
        for rows in known.architectures.values():
            if len(rows) > 1:
                apart = known.curves[rows] - known.curves[rows].mean(axis=0)
                found.append(apart * np.sqrt(len(rows) / (len(rows) - 1)))  # their own mean lies nearer than the true one
        if not found:
            raise ConfigurationError("the noise `seeds` needs architectures that were trained with several seeds; none was.")
        return cls._around(np.concatenate(found), narrower=True)


class Window(Noise):
    """Independent normal noise whose deviation an architecture's inputs decide: that of its residuals around each step."""

    name = "window"

    def __init__(self, weights: np.ndarray, bias: np.ndarray, centre: np.ndarray, spread: np.ndarray) -> None:
        self.weights, self.bias, self.centre, self.spread = weights, bias, centre, spread

    @classmethod
    def fitted(cls, known: Known, rebuilt: np.ndarray) -> Self:
        from sklearn.linear_model import RidgeCV

        local = around(known.curves - rebuilt, WINDOW)
        floor = FLOOR * local.mean(axis=(0, 2)) + np.finfo(float).tiny
        logs = np.log(np.maximum(local, floor[:, None])).reshape(len(known), -1)
        spread = known.inputs.std(axis=0)
        centre, spread = known.inputs.mean(axis=0), np.where(spread > 0, spread, 1.0)
        model = RidgeCV(np.logspace(-1, 5, 13)).fit((known.inputs - centre) / spread, logs)
        shape = known.curves.shape[1:]
        weights, bias = np.atleast_2d(model.coef_).reshape(*shape, -1), np.asarray(model.intercept_).reshape(shape)
        found = cls(weights, bias, centre, spread)
        # means of logarithms lie below logarithms of means: as large on average as the residuals are
        squares, told = ((values**2).mean(axis=0) for values in (local, found.deviation(known.inputs)))
        return cls(weights, bias + np.log(np.maximum(squares, floor[:, None] ** 2) / told) / 2, centre, spread)

    def draw(self, inputs: np.ndarray, rngs: list[Generator]) -> np.ndarray:
        return np.asarray(np.stack([rng.standard_normal(self.bias.shape) for rng in rngs]) * self.deviation(inputs))

    def deviation(self, inputs: np.ndarray) -> np.ndarray:
        scaled = (inputs - self.centre) / self.spread
        return np.asarray(np.exp(np.einsum("nd,mbd->nmb", scaled, self.weights) + self.bias))

    def arrays(self) -> Mapping[str, np.ndarray]:
        return dict(vars(self))

    @classmethod
    def of(cls, **arrays: np.ndarray) -> Self:
        return cls(**arrays)


def around(residuals: np.ndarray, window: int) -> np.ndarray:
    """The deviation (n, m, b) of residuals (n, m, b) within `window` steps around each, fewer at the ends; around 0 where there
    is one step only."""
    steps = residuals.shape[2]
    before = window // 2
    ends = [(max(0, step - before), min(steps, step - before + window)) for step in range(steps)]
    if steps == 1:
        return np.asarray(np.abs(residuals))
    return np.stack([residuals[:, :, start:end].std(axis=2, ddof=1) for start, end in ends], axis=2)
