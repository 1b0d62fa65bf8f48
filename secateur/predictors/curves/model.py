"""A model of learning curves: compressor × regressor × noise (Yan 2022, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from secateur.catalogue import find
from secateur.errors import ConfigurationError, StudyError
from secateur.predictors.curves.compressors import Compressor
from secateur.predictors.curves.known import Known
from secateur.predictors.curves.noise import Noise
from secateur.predictors.curves.part import read_arrays, unfit, write_arrays
from secateur.predictors.curves.regressors import Regressor
from secateur.rng import Generator, generator

#: The most components that are tried, and the parts of the cross-validation that chooses among them.
MOST, FOLDS = 12, 5
#: Fewer architectures have nothing to learn from.
LEAST = 10
#: The names of the parts' files.
COMPRESSOR, REGRESSOR, NOISE, SCALE = "compressor", "regressor", "noise", "scale"


@dataclass(frozen=True)
class Ways:
    """The names of the parts, and how many numbers a curve is compressed to; None: as many as predict best."""

    compressor: str = "svd"
    regressor: str = "lgb"
    noise: str = "kde"
    components: int | None = None

    def __str__(self) -> str:
        return f"{self.compressor}-{self.regressor}-{self.noise}"


@dataclass(frozen=True)
class CurveModel:
    """Predicts curves (n, m, b) from inputs (n, d). Metrics are divided by their `scale` (m,) before they are compressed, all
    curves of a training as one."""

    compressor: Compressor
    regressor: Regressor
    noise: Noise
    scale: np.ndarray
    steps: int

    @classmethod
    def fitted(cls, known: Known, ways: Ways, seed: int = 0) -> Self:
        """Raises ConfigurationError for unknown names, and where there are too few trainings for what is asked."""
        if len(known.architectures) < LEAST:
            raise ConfigurationError(f"curves of at least {LEAST} architectures are needed, got {len(known.architectures)}.")
        scale = scale_of(known.curves)
        scaled = _scaled(known.curves, scale)
        compressing, regression = find("compressor", ways.compressor), find("regressor", ways.regressor)
        components = ways.components or best_components(known, ways, seed)
        compressor = compressing.fitted(scaled, components, seed)
        regressor = regression.fitted(known.inputs, compressor.compress(scaled), seed)
        noise = find("noise", ways.noise).fitted(known, _rebuilt(compressor, known.curves, scale))
        return cls(compressor, regressor, noise, scale, len(known.budgets))

    def mean(self, inputs: np.ndarray) -> np.ndarray:
        """The expected curves (n, m, b)."""
        found = self.compressor.expand(self.regressor.predict(inputs))
        return np.asarray(found.reshape(len(inputs), len(self.scale), self.steps) * self.scale[:, None])

    def rebuilt(self, curves: np.ndarray) -> np.ndarray:
        """Curves (n, m, b) as they come back from compression."""
        return _rebuilt(self.compressor, curves, self.scale)

    @property
    def components(self) -> int:
        """How many numbers a curve is compressed to."""
        return int(self.compressor.compress(np.zeros((1, len(self.scale) * self.steps))).shape[1])

    def drawn(self, inputs: np.ndarray, rngs: Sequence[Generator]) -> np.ndarray:
        """Noise (n, m, b) that trainings of inputs (n, d) may have, each by its own generator."""
        return self.noise.draw(inputs, list(rngs)) if len(inputs) else np.zeros((0, len(self.scale), self.steps))

    def write(self, folder: Path) -> None:
        """Write all parts into a folder."""
        write_arrays(folder / SCALE, {"scale": self.scale, "steps": np.array([self.steps])})
        self.compressor.write(folder / COMPRESSOR)
        self.regressor.write(folder / REGRESSOR)
        self.noise.write(folder / NOISE)

    @classmethod
    def read(cls, folder: Path, ways: Ways) -> Self:
        """The model that was written there. Raises StudyError."""
        arrays = read_arrays(folder / SCALE)
        if set(arrays) != {"scale", "steps"}:
            raise unfit(folder / SCALE, ValueError("its arrays have other names"))
        compressor = find("compressor", ways.compressor).read(folder / COMPRESSOR)
        regressor = find("regressor", ways.regressor).read(folder / REGRESSOR)
        noise = find("noise", ways.noise).read(folder / NOISE)
        found = cls(compressor, regressor, noise, arrays["scale"], int(arrays["steps"][0]))
        if regressor.outputs != found.components:
            told = f"curves have {found.components} numbers, and {regressor.outputs} are told"
            raise StudyError(f"`{folder}` is not whole: {told}.")
        return found


def scale_of(curves: np.ndarray) -> np.ndarray:
    """The deviation of each metric (m,) of curves (n, m, b); 1 of one that hardly changes."""
    found = curves.std(axis=(0, 2))
    least = 1e-9 * np.maximum(np.abs(curves).max(axis=(0, 2)), np.finfo(float).tiny)
    return np.where(found > least, found, 1.0)


def compressed(known: Known, compressor: str, components: int, seed: int = 0) -> np.ndarray:
    """Curves (n, m, b) as they come back from a compression that is fitted to them."""
    scale = scale_of(known.curves)
    fitted = find("compressor", compressor).fitted(_scaled(known.curves, scale), components, seed)
    return _rebuilt(fitted, known.curves, scale)


def _scaled(curves: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Curves (n, m, b) as they are compressed: metrics divided by their deviation, behind each other (n, m · b)."""
    return np.asarray((curves / scale[:, None]).reshape(len(curves), -1))


def _rebuilt(compressor: Compressor, curves: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.asarray(compressor.expand(compressor.compress(_scaled(curves, scale))).reshape(curves.shape) * scale[:, None])


def best_components(known: Known, ways: Ways, seed: int) -> int:
    """How many components predict held-out curves best, by cross-validation over architectures.

    With the singular value decomposition the codes do not depend on how many there are: each is predicted once.
    """
    compressing, regression = find("compressor", ways.compressor), find("regressor", ways.regressor)
    order = generator(seed, "components").permutation(len(known.architectures))
    parts = known.folds(FOLDS, order)
    most = min(MOST, known.flat.shape[1], *(len(learnt) for learnt, _ in parts))
    tried = range(1, most + 1) if ways.compressor == "svd" else sorted({min(n, most) for n in (2, 4, 6, 9)})
    scale = scale_of(known.curves)
    errors = np.zeros(len(tried))
    for learnt, held_out in parts:
        curves, wanted = (_scaled(part.curves, scale) for part in (learnt, held_out))
        if ways.compressor == "svd":
            compressor = compressing.fitted(curves, most, seed)
            codes = regression.fitted(learnt.inputs, compressor.compress(curves), seed).predict(held_out.inputs)
            for place, count in enumerate(tried):
                errors[place] += ((codes[:, :count] @ compressor.basis[:count] - wanted) ** 2).sum()
            continue
        for place, count in enumerate(tried):
            compressor = compressing.fitted(curves, count, seed)
            codes = regression.fitted(learnt.inputs, compressor.compress(curves), seed).predict(held_out.inputs)
            errors[place] += ((compressor.expand(codes) - wanted) ** 2).sum()
    return tried[int(np.argmin(errors))]
