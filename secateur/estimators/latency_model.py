"""The latency of thousands of decoders a second: a model of per-layer costs, fitted on the device in its first minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.devices.device import describe_device
from secateur.devices.runtime import runtime_version
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, MeasurementError
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build
from secateur.estimators.latency_fit import LAYER, Pair, feature_names, features, held_back, pair_of, relative_errors, solve
from secateur.estimators.latency_sample import USUAL, Fitting, Sample, sample
from secateur.search.layer_sums import Around, LayerSums
from secateur.spaces.base import Space


@dataclass(frozen=True)
class FitReport:
    """How far the model is off on `held_out` networks that it was fitted without: relative errors |predicted − measured| /
    measured. `loaded` of all networks were measured while the machine was busy."""

    networks: int
    held_out: int
    mean: float
    max: float
    seconds: float
    loaded: int = 0

    def __str__(self) -> str:
        busy = f"; the machine was busy during {self.loaded} of them" if self.loaded else ""
        return (
            f"latency model: off by {100 * self.mean:.1f} % on average, {100 * self.max:.1f} % at most, on {self.held_out} "
            f"networks it had not seen ({self.networks} to fit it, {self.seconds:.0f} s){busy}"
        )


@dataclass(frozen=True)
class LatencyModel:
    """seconds = Σ over layers of (a + b·width + c·width² + d·heads + e·inner + f·width·inner), and for the embedding with its
    output layer (g + h·width), one g and h per kind of embedding. No coefficient is negative.

    Holds for one device, number of threads, runtime, batch, length and backbone; the vocabulary is whatever `build` had.
    """

    coefficients: Mapping[str, float]
    backbone: str
    pairs: tuple[Pair, ...]
    device: str
    threads: int
    batch: int
    length: int
    runtime: str
    version: str
    report: FitReport

    @classmethod
    def fit(
        cls,
        build: Build,
        space: Space,
        setup: Setup,
        fitting: Fitting = USUAL,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> LatencyModel:
        """Measure random networks of the `space` (a `Decoder`) as language models and fit the coefficients to them.

        Errors count relative to the latency. The report tells how far the model fitted without the held-out networks was off
        on them; the coefficients returned are fitted to all. `progress(done, total)` is called after each turn.
        Raises ConfigurationError for settings out of range, MeasurementError where too few networks could be measured.
        """
        start = time.perf_counter()
        found = sample(build, space, setup, fitting, progress)
        model = cls._fitted(found, fitting.held_out, _conditions(setup))
        return replace(model, report=replace(model.report, seconds=time.perf_counter() - start))

    @classmethod
    def _fitted(cls, found: Sample, most: int, conditions: Mapping[str, Any]) -> LatencyModel:
        """The model of what was measured, its report from a fit without at most `most` of it."""
        measured = found.measured
        pairs = tuple(sorted({pair_of(a) for a, _ in measured}))  # what could not be measured is refused, not guessed
        back = set(held_back([a for a, _ in measured], max(1, min(most, len(measured) // 3))))
        tests, fits = ([m for n, m in enumerate(measured) if (n in back) is held] for held in (True, False))
        if not tests or len(fits) < 2:
            reason = f" The last reason: {found.failure}" if found.failure else ""
            raise MeasurementError(
                f"only {len(measured)} of {found.wanted} networks could be measured: too few to fit a model.{reason}"
            )
        report = FitReport(len(fits), len(tests), 0.0, 0.0, 0.0, found.loaded)
        model = cls(_coefficients(fits, pairs), found.backbone, pairs, **conditions, report=report)
        errors = relative_errors(model.predict([a for a, _ in tests]), np.array([seconds for _, seconds in tests]))
        report = replace(report, mean=float(errors.mean()), max=float(errors.max()))
        return replace(model, coefficients=_coefficients(measured, pairs), report=report)

    def predict(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """Seconds (n,) of the architectures. Raises ConfigurationError for a backbone or embedding it was not fitted to."""
        for architecture in architectures:
            fault = self.fault(architecture)
            if fault:
                raise ConfigurationError(fault)
        return np.asarray(features(architectures, self.pairs) @ self._vector)

    def fault(self, architecture: Architecture) -> str | None:
        """Why the architecture cannot be predicted, or None."""
        if architecture["backbone"] != self.backbone:
            return f"the latency model was fitted to `backbone` {self.backbone}, not {architecture['backbone']}."
        if pair_of(architecture) not in self.pairs:
            embedding, factor = pair_of(architecture)
            return (
                f"the latency model has not seen `embedding` {embedding} with `factor` {factor}: fit it to a space that has it."
            )
        return None

    @property
    def _vector(self) -> np.ndarray:
        return np.array([self.coefficients[name] for name in feature_names(self.pairs)])

    def check(self, setup: Setup) -> None:
        """Raise MeasurementError where the model does not hold for this setup, naming all that differs."""
        wanted = _conditions(setup).items()
        differ = [f"`{name}` {getattr(self, name)}, not {value}" for name, value in wanted if getattr(self, name) != value]
        if differ:
            raise MeasurementError(f"the latency model was fitted with {'; '.join(differ)}. Fit it again.")

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {**asdict(self), "coefficients": dict(self.coefficients), "pairs": [list(pair) for pair in self.pairs]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LatencyModel:
        """Raises MeasurementError where something is missing or of another form."""
        try:
            pairs = tuple((int(e), int(k)) for e, k in data["pairs"])
            found = cls(
                **{
                    **data,
                    "coefficients": {name: float(data["coefficients"][name]) for name in feature_names(pairs)},
                    "pairs": pairs,
                    "report": FitReport(**data["report"]),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise MeasurementError(f"the saved latency model is damaged ({error}). Fit it again.") from error
        return found

    @property
    def fingerprint(self) -> str:
        numbers = [f"{name}={value!r}" for name, value in sorted(self.coefficients.items())]
        sizes = f"{self.threads} threads, {self.batch} x {self.length}"
        return digest("latency model", self.backbone, self.device, self.version, sizes, *numbers)


def _conditions(setup: Setup) -> dict[str, Any]:
    """What a model holds for, by the names of its fields."""
    return {
        "device": describe_device(setup.device),
        "threads": setup.threads,
        "batch": setup.batch,
        "length": setup.length,
        "runtime": setup.runtime,
        "version": runtime_version(setup.runtime),
    }


def _coefficients(measured: Sequence[tuple[Architecture, float]], pairs: tuple[Pair, ...]) -> dict[str, float]:
    found = solve(features([a for a, _ in measured], pairs), np.array([seconds for _, seconds in measured]))
    return dict(zip(feature_names(pairs), found.tolist(), strict=True))


class PredictedLatency(Estimator, LayerSums):
    """`latency` in seconds by a LatencyModel: free, so that bounds on it are checked before anything is built."""

    yields = ("latency",)
    cost: ClassVar[int] = 0

    def __init__(self, model: LatencyModel, *, identity: str = "") -> None:
        self.model = model
        self.identity = identity

    @property
    def fingerprint(self) -> str:
        return digest("predicted latency", self.identity, self.model.fingerprint)

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        faults = [self.model.fault(a) for a in architectures]
        able = [a for a, fault in zip(architectures, faults, strict=True) if fault is None]
        seconds = iter(self.model.predict(able).tolist())
        return [
            Evaluation(failure=fault)
            if fault is not None
            else Evaluation({"latency": next(seconds)}, details={"latency_source": "model"})
            for fault in faults
        ]

    # As sums over layers.

    added = (True,)

    def parts(self, backbone: str, width: int, heads: np.ndarray, inner: np.ndarray) -> np.ndarray:
        ones = np.ones(len(heads))
        described = np.stack([ones, ones * width, ones * width * width, heads, inner, width * inner], axis=1)
        return np.asarray(described @ [self.model.coefficients[name] for name in LAYER])[:, None]

    def quantities(self, around: Around, parts: np.ndarray) -> dict[str, np.ndarray]:
        pair = (around.embedding, around.factor)
        if around.backbone != self.model.backbone or pair not in self.model.pairs:
            return {"latency": np.full(len(parts), np.inf)}
        constant, slope = (self.model.coefficients[name] for name in feature_names([pair])[len(LAYER) :])
        return {"latency": parts[:, 0] + constant + slope * around.width}
