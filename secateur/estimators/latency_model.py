"""The latency of thousands of decoders a second: a model of per-layer costs, fitted on the device in its first minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.devices.device import describe_device
from secateur.devices.runtime import runtime_version
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, MeasurementError
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build
from secateur.estimators.latency_fit import (
    LAYER,
    Pair,
    corrections,
    described,
    feature_names,
    features,
    held_back,
    pair_of,
    relative_errors,
    solve,
)
from secateur.estimators.latency_sample import USUAL, Fitting, Measured, Sample, sample
from secateur.search.layer_sums import Around, LayerSums
from secateur.spaces.base import Space


@dataclass(frozen=True)
class FitReport:
    """How far the model is off on `held_out` networks that it was fitted without: relative errors |predicted − measured| /
    measured. `loaded` of all networks were measured while the machine was busy. `front` is the mean error on networks that the
    model itself had picked as the best, before it was fitted to them too."""

    networks: int
    held_out: int
    mean: float
    max: float
    seconds: float
    loaded: int = 0
    front: float | None = None

    def __str__(self) -> str:
        picked = (
            "" if self.front is None else f"; by {100 * self.front:.1f} % on its own picks, to which it was then fitted as well"
        )
        busy = f"; the machine was busy during {self.loaded} of them" if self.loaded else ""
        return (
            f"latency model: off by {100 * self.mean:.1f} % on average, {100 * self.max:.1f} % at most, on {self.held_out} "
            f"networks it had not seen ({self.networks} to fit it, {self.seconds:.0f} s){picked}{busy}"
        )


@dataclass(frozen=True)
class LatencyModel:
    """seconds = Σ over layers of (a + b·width + c·width² + d·heads + e·inner + f·width·inner) × (1 + r), and for the embedding
    with its output layer (g + h·width), one g and h per kind of embedding, and one r per width: what the networks of a width
    take more or less than the sum says. No coefficient is negative.

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
    #: r by width, as text, as JSON has it.
    widths: Mapping[str, float] = field(default_factory=dict)

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
        model = cls.of(sample(build, space, setup, fitting, progress), fitting.held_out, setup)
        return replace(model, report=replace(model.report, seconds=time.perf_counter() - start))

    @classmethod
    def of(cls, found: Sample, held_out: int, setup: Setup, more: Sequence[Measured] = ()) -> LatencyModel:
        """The model of what was measured, its report from a fit without at most `held_out` of the sample. `more` is what was
        measured beside the sample."""
        measured, conditions = found.measured, _conditions(setup)
        pairs = tuple(sorted({pair_of(a) for a, _ in measured}))  # what could not be measured is refused, not guessed
        back = set(held_back([a for a, _ in measured], max(1, min(held_out, len(measured) // 3))))
        tests, fits = ([m for n, m in enumerate(measured) if (n in back) is held] for held in (True, False))
        if not tests or len(fits) < 2:
            reason = f" The last reason: {found.failure}" if found.failure else ""
            raise MeasurementError(
                f"only {len(measured)} of {found.wanted} networks could be measured: too few to fit a model.{reason}"
            )
        report = FitReport(len(fits) + len(more), len(tests), 0.0, 0.0, 0.0, found.loaded)
        model = cls({}, found.backbone, pairs, **conditions, report=report)._solved([*fits, *more])
        errors = model.errors(tests)
        report = replace(report, mean=float(errors.mean()), max=float(errors.max()))
        return replace(model._solved([*measured, *more]), report=report)

    def _solved(self, measured: Sequence[Measured]) -> LatencyModel:
        """The same with the coefficients that fit best to what was measured."""
        rows, seconds = features([a for a, _ in measured], self.pairs), np.array([s for _, s in measured])
        found = solve(rows, seconds)
        layers = rows[:, : len(LAYER)] @ found[: len(LAYER)]
        widths = corrections([str(a["width"]) for a, _ in measured], layers, rows @ found, seconds)
        return replace(self, coefficients=dict(zip(feature_names(self.pairs), found.tolist(), strict=True)), widths=widths)

    def errors(self, measured: Sequence[Measured]) -> np.ndarray:
        """|predicted − measured| / measured (n,)."""
        return relative_errors(self.predict([a for a, _ in measured]), np.array([seconds for _, seconds in measured]))

    def predict(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """Seconds (n,) of the architectures. Raises ConfigurationError for a backbone or embedding it was not fitted to."""
        for architecture in architectures:
            fault = self.fault(architecture)
            if fault:
                raise ConfigurationError(fault)
        rows, split = features(architectures, self.pairs), len(LAYER)
        more = np.array([self.correction(a["width"]) for a in architectures])
        return np.asarray(rows[:, :split] @ self._vector[:split] * (1 + more) + rows[:, split:] @ self._vector[split:])

    def correction(self, width: Any) -> float:
        """What the layers of this width take more than the sum says, as a share of it; 0 where none was measured."""
        return self.widths.get(str(width), 0.0)

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
        own = {"coefficients": dict(self.coefficients), "widths": dict(self.widths)}
        return {**asdict(self), **own, "pairs": [list(pair) for pair in self.pairs]}

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
                    "widths": {str(width): float(r) for width, r in data.get("widths", {}).items()},
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise MeasurementError(f"the saved latency model is damaged ({error}). Fit it again.") from error
        return found

    @property
    def fingerprint(self) -> str:
        numbers = [f"{name}={value!r}" for name, value in sorted({**self.coefficients, **self.widths}.items())]
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
        rows = np.stack(described(np.ones(len(heads)), width, heads, inner), axis=1)
        summed = np.asarray(rows @ [self.model.coefficients[name] for name in LAYER])
        return summed[:, None] * (1 + self.model.correction(width))

    def quantities(self, around: Around, parts: np.ndarray) -> dict[str, np.ndarray]:
        pair = (around.embedding, around.factor)
        if around.backbone != self.model.backbone or pair not in self.model.pairs:
            return {"latency": np.full(len(parts), np.inf)}
        constant, slope = (self.model.coefficients[name] for name in feature_names([pair])[len(LAYER) :])
        return {"latency": parts[:, 0] + constant + slope * around.width}
