"""The latency of thousands of decoders a second: a model of per-layer costs, fitted on the device in its first minutes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.devices.device import describe_device, resolve_device
from secateur.devices.inputs import check_sizes
from secateur.devices.latency import measure_model
from secateur.devices.runtime import check_runtime, runtime_version
from secateur.errors import ConfigurationError, MeasurementError
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build
from secateur.estimators.latency_fit import (
    Pair,
    feature_names,
    features,
    held_back,
    pair_of,
    relative_errors,
    sizes_of,
    solve,
    spread_sample,
)
from secateur.spaces.base import Space

KIND = "language_modelling"
#: How often each network has its turn. Others' work only ever slows a machine down, and for seconds at a time: the quickest of
#: turns that are about a minute apart is bent least by it.
ROUNDS = 3


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
        busy = f"; the machine was loaded at {self.loaded} of them" if self.loaded else ""
        return (
            f"latency model: off by {self.mean:.1%} on average, {self.max:.1%} at most, on {self.held_out} networks that it "
            f"had not seen ({self.networks} to fit it, {self.seconds:.0f} s){busy}"
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
        *,
        device: str = "cpu",
        threads: int = 1,
        batch: int = 1,
        length: int = 128,
        runtime: str = "torch",
        networks: int = 60,
        held_out: int = 12,
        max_seconds: float = 150.0,
        seed: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> LatencyModel:
        """Measure random networks of the `space` (a `Decoder`) and fit the coefficients to them.

        Measures `networks` + `held_out` networks in `ROUNDS` turns, or as many as `max_seconds` allow (but as many networks as
        there are coefficients, and two of each kind of embedding where they can be measured); `progress(done, total)` is called
        after each turn. Errors count relative to the latency. The report tells how far the model fitted without the held-out
        networks was off on them; the coefficients returned are fitted to all.
        Raises ConfigurationError for settings out of range, MeasurementError where too few networks could be measured.
        """
        check_sizes(batch, length, KIND)
        bounds = (("threads", threads, 1), ("networks", networks, 2), ("held_out", held_out, 1))
        faults = [f"`{name}` must be at least {least}, got {value}." for name, value, least in bounds if value < least]
        if max_seconds <= 0:
            faults.append(f"`max_seconds` must be above 0, got {max_seconds}.")
        if faults:
            raise ConfigurationError(faults)
        where = resolve_device(device)
        check_runtime(runtime, where)
        settings: dict[str, Any] = {
            "device": where,
            "threads": threads,
            "batch": batch,
            "length": length,
            "kind": KIND,
            "runtime": runtime,
        }
        start, total = time.perf_counter(), networks + held_out
        chosen = spread_sample(space, total, seed)
        fewest = min(total, len(feature_names(sorted({pair_of(a) for a in chosen}))) + 2)
        # A builder that keeps a buffer as large as its largest network then fills it once.
        with contextlib.suppress(RuntimeError, MemoryError, ValueError):  # too large: its own turn says so
            build(max(chosen, key=lambda a: sizes_of(a)[-1]))
        times: dict[int, list[float]] = {}
        failures: dict[int, str] = {}
        loaded: set[int] = set()
        # An export takes longer than a measurement: there, each network has one turn.
        turns = [place for _ in range(1 if runtime.startswith("onnx") else ROUNDS) for place in range(len(chosen))]
        for done, place in enumerate(turns):
            spent = time.perf_counter() - start
            if place in failures:
                continue
            if spent > max_seconds:
                alike = sum(pair_of(chosen[p]) == pair_of(chosen[place]) for p in times)
                if place in times or (len(times) >= fewest and alike >= 2):
                    continue
            share = max(0.05, (max_seconds - spent) / (len(turns) - done))
            try:
                latency = measure_model(build(chosen[place]).eval(), max_seconds=share, **settings)
            except (RuntimeError, MemoryError, ValueError) as error:  # too large for the device: the others will do
                failures[place] = f"{type(error).__name__}: {error}"
                continue
            times.setdefault(place, []).append(latency.median)
            if latency.loaded:
                loaded.add(place)
            if progress is not None:
                progress(done + 1, len(turns))
        measured = [(chosen[place], min(found)) for place, found in sorted(times.items())]
        pairs = tuple(sorted({pair_of(a) for a, _ in measured}))  # what could not be measured is refused, not guessed
        back = set(held_back([a for a, _ in measured], max(1, min(held_out, len(measured) // 3))))
        tests, fits = ([m for n, m in enumerate(measured) if (n in back) is held] for held in (True, False))
        if not tests or len(fits) < 2:
            reason = f" The last reason: {list(failures.values())[-1]}" if failures else ""
            raise MeasurementError(f"only {len(measured)} of {total} networks could be measured: too few for a model.{reason}")
        model = cls(
            coefficients=_fitted(fits, pairs),
            backbone=str(chosen[0]["backbone"]),
            pairs=pairs,
            device=describe_device(where),
            threads=threads,
            batch=batch,
            length=length,
            runtime=runtime,
            version=runtime_version(runtime),
            report=FitReport(len(fits), len(tests), 0.0, 0.0, 0.0, len(loaded)),
        )
        errors = relative_errors(model.predict([a for a, _ in tests]), np.array([t for _, t in tests]))
        report = replace(model.report, mean=float(errors.mean()), max=float(errors.max()), seconds=time.perf_counter() - start)
        return replace(model, coefficients=_fitted(measured, pairs), report=report)

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
            return f"the latency model has seen no `embedding` {embedding} with `factor` {factor}: fit it to a space that has."
        return None

    @property
    def _vector(self) -> np.ndarray:
        return np.array([self.coefficients[name] for name in feature_names(self.pairs)])

    def check(self, *, device: str = "cpu", threads: int, batch: int, length: int, runtime: str = "torch") -> None:
        """Raise MeasurementError where the model does not hold for these, naming all that differs."""
        wanted = {
            "device": describe_device(device),
            "threads": threads,
            "batch": batch,
            "length": length,
            "runtime": runtime,
            "version": runtime_version(runtime),
        }
        differ = [
            f"`{name}` {getattr(self, name)}, not {value}" for name, value in wanted.items() if getattr(self, name) != value
        ]
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


def _fitted(measured: Sequence[tuple[Architecture, float]], pairs: tuple[Pair, ...]) -> dict[str, float]:
    found = solve(features([a for a, _ in measured], pairs), np.array([seconds for _, seconds in measured]))
    return dict(zip(feature_names(pairs), found.tolist(), strict=True))


class PredictedLatency(Estimator):
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
