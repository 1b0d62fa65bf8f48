"""The latency of thousands of networks a second: a model of what their parts cost, fitted on the device in minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.devices.device import describe_device
from secateur.devices.runtime import runtime_version
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, MeasurementError
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build
from secateur.estimators.latency_fit import corrections, held_back, relative_errors, solve
from secateur.estimators.latency_parts import MODEL, SOURCE, Kind, Parts
from secateur.estimators.latency_sample import USUAL, Fitting, Measured, Sample, sample

#: What earlier versions called fields of a saved model.
FORMERLY = {"kinds": "pairs", "corrections": "widths"}


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
    median: float | None = None

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
    """seconds = Σ of what the layers have × its cost × (1 + r) + Σ of what is around them × its cost, as `parts` describes a
    network; r is the correction of its stratum, where strata have such. No coefficient is negative.

    Holds for one device, number of threads, runtime, batch and length, and for whatever else `build` had.
    """

    parts: Parts = field(compare=False, repr=False)
    coefficients: Mapping[str, float]
    kinds: tuple[Kind, ...]
    device: str
    threads: int
    batch: int
    length: int
    runtime: str
    version: str
    report: FitReport
    #: r by stratum.
    corrections: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        build: Build,
        parts: Parts,
        setup: Setup,
        fitting: Fitting = USUAL,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> LatencyModel:
        """Measure random networks that `parts` describes and fit the coefficients to them.

        Errors count relative to the latency. The report tells how far the model fitted without the held-out networks was off
        on them; the coefficients returned are fitted to all. `progress(done, total)` is called after each turn.
        Raises ConfigurationError for settings out of range, MeasurementError where too few networks could be measured.
        """
        start = time.perf_counter()
        model = cls.of(sample(build, parts, setup, fitting, progress), parts, fitting.held_out, setup)
        return replace(model, report=replace(model.report, seconds=time.perf_counter() - start))

    @classmethod
    def of(cls, found: Sample, parts: Parts, held_out: int, setup: Setup, more: Sequence[Measured] = ()) -> LatencyModel:
        """The model of what was measured, its report from a fit without at most `held_out` of the sample. `more` is what was
        measured beside the sample."""
        measured = found.measured
        kinds = [parts.kind(a) for a, _ in measured]  # what could not be measured is refused, not guessed
        back = set(held_back(kinds, max(1, min(held_out, len(measured) // 3))))
        tests, fits = ([m for n, m in enumerate(measured) if (n in back) is held] for held in (True, False))
        if not tests or len(fits) < 2:
            reason = f" The last reason: {found.failure}" if found.failure else ""
            raise MeasurementError(
                f"only {len(measured)} of {found.wanted} networks could be measured: too few to fit a model.{reason}"
            )
        report = FitReport(len(fits) + len(more), len(tests), 0.0, 0.0, 0.0, found.loaded)
        model = cls(parts, {}, tuple(sorted(set(kinds))), **_conditions(setup), report=report)._solved([*fits, *more])
        errors = model.errors(tests)
        report = replace(report, mean=float(errors.mean()), max=float(errors.max()), median=float(np.median(errors)))
        return replace(model._solved([*measured, *more]), report=report)

    def _solved(self, measured: Sequence[Measured]) -> LatencyModel:
        """The same with the coefficients that fit best to what was measured."""
        parts, split = self.parts, len(self.parts.layers)
        rows, seconds = parts.rows([a for a, _ in measured], self.kinds), np.array([s for _, s in measured])
        found = solve(rows, seconds)
        strata = [parts.stratum(a) for a, _ in measured]
        more = corrections(strata, rows[:, :split] @ found[:split], rows @ found, seconds) if parts.corrected else {}
        return replace(self, coefficients=dict(zip(parts.names(self.kinds), found.tolist(), strict=True)), corrections=more)

    def errors(self, measured: Sequence[Measured]) -> np.ndarray:
        """|predicted − measured| / measured (n,)."""
        return relative_errors(self.predict([a for a, _ in measured]), np.array([seconds for _, seconds in measured]))

    def predict(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """Seconds (n,) of the architectures. Raises ConfigurationError for one of a kind that it was not fitted to."""
        for architecture in architectures:
            fault = self.fault(architecture)
            if fault:
                raise ConfigurationError(fault)
        rows, split = self.parts.rows(architectures, self.kinds), len(self.parts.layers)
        costs = np.array([self.coefficients[name] for name in self.parts.names(self.kinds)])
        more = np.array([self.correction(self.parts.stratum(a)) for a in architectures])
        return np.asarray(rows[:, :split] @ costs[:split] * (1 + more) + rows[:, split:] @ costs[split:])

    def correction(self, stratum: str) -> float:
        """What the layers of this stratum take more than the sum says, as a share of it; 0 where none was measured."""
        return self.corrections.get(stratum, 0.0)

    def fault(self, architecture: Architecture) -> str | None:
        """Why the architecture cannot be predicted, or None."""
        return self.parts.fault(architecture, self.kinds)

    def check(self, setup: Setup) -> None:
        """Raise MeasurementError where the model does not hold for this setup, naming all that differs."""
        wanted = _conditions(setup).items()
        differ = [f"`{name}` {getattr(self, name)}, not {value}" for name, value in wanted if getattr(self, name) != value]
        if differ:
            raise MeasurementError(f"the latency model was fitted with {'; '.join(differ)}. Fit it again.")

    def to_dict(self) -> dict[str, Any]:
        """All of it but what describes the networks, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "parts"}
        own = {"coefficients": dict(self.coefficients), "corrections": dict(self.corrections)}
        return {**plain, **own, "kinds": [list(kind) for kind in self.kinds], "report": asdict(self.report)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], parts: Parts) -> LatencyModel:
        """The model that `to_dict` told. Raises MeasurementError where something is missing or of another form."""
        try:
            known = {f.name: data.get(f.name, data.get(FORMERLY.get(f.name, ""))) for f in fields(cls) if f.name != "parts"}
            kinds = tuple(tuple(int(n) for n in kind) for kind in known["kinds"])
            read = {
                "kinds": kinds,
                "coefficients": {name: float(known["coefficients"][name]) for name in parts.names(kinds)},
                "corrections": {str(stratum): float(r) for stratum, r in (known["corrections"] or {}).items()},
                "report": FitReport(**known["report"]),
            }
            return cls(parts, **known | read)
        except (KeyError, TypeError, ValueError) as error:
            raise MeasurementError(f"the saved latency model is damaged ({error}). Fit it again.") from error

    @property
    def fingerprint(self) -> str:
        numbers = [f"{name}={value!r}" for name, value in sorted({**self.coefficients, **self.corrections}.items())]
        sizes = f"{self.threads} threads, {self.batch} x {self.length}"
        return digest("latency model", self.device, self.version, sizes, *numbers)


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


class PredictedLatency(Estimator):
    """`latency` in seconds by a LatencyModel: free, so that bounds on it are checked before anything is built."""

    yields: tuple[str, ...] = ("latency",)
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
            Evaluation(failure=fault) if fault is not None else Evaluation({"latency": next(seconds)}, details={SOURCE: MODEL})
            for fault in faults
        ]
