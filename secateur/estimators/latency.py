"""The latency of an architecture's network on this machine, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import nn

from secateur.architecture import Architecture, digest
from secateur.devices.device import describe_device, resolve_device
from secateur.devices.inputs import check_sizes
from secateur.devices.latency import measure_model
from secateur.devices.runtime import check_runtime, runtime_version
from secateur.errors import ConfigurationError
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build, measured


class LatencyEstimator(Estimator):
    """Seconds of one forward pass on `batch` × `length` tokens: the median of as many repeats as its interval needs.

    `runtime` is one of `devices.RUNTIMES`; ONNX Runtime takes some seconds more per network, for the export.
    `identity` names what `build` builds from (a digest of the model's configuration), so that the numbers of two models
    are never mixed up.
    """

    yields = ("latency",)
    cost: ClassVar[int] = 2

    def __init__(
        self,
        build: Build,
        *,
        device: str = "cpu",
        threads: int = 1,
        batch: int = 1,
        length: int = 128,
        kind: str = "classification",
        max_seconds: float = 2.0,
        runtime: str = "torch",
        identity: str = "",
    ) -> None:
        check_sizes(batch, length, kind)
        if threads < 1:
            raise ConfigurationError(f"`threads` must be at least 1, got {threads}.")
        if max_seconds <= 0:
            raise ConfigurationError(f"`max_seconds` must be above 0, got {max_seconds}.")
        self.build = build
        self.device = resolve_device(device)
        self.threads, self.batch, self.length, self.kind = threads, batch, length, kind
        self.max_seconds = max_seconds
        check_runtime(runtime, self.device)
        self.runtime = runtime
        self.identity = identity

    @property
    def fingerprint(self) -> str:
        return digest(
            "latency",
            self.identity,
            describe_device(self.device),
            f"{self.threads} threads",
            runtime_version(self.runtime),
            f"{self.batch} x {self.length}",
            self.kind,
        )

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return measured(self.build, architectures, self._measure)

    def _measure(self, network: nn.Module) -> Evaluation:
        latency = measure_model(
            network,
            device=self.device,
            threads=self.threads,
            batch=self.batch,
            length=self.length,
            kind=self.kind,
            max_seconds=self.max_seconds,
            runtime=self.runtime,
        )
        return Evaluation(
            values={"latency": latency.median},
            details={
                "latency_low": latency.low,
                "latency_high": latency.high,
                "latency_spread": latency.spread,
                "latency_wall": latency.wall,
                "latency_cpu": latency.cpu,
                "latency_repeats": float(latency.repeats),
                "latency_steady": float(latency.steady),
                "latency_loaded": float(latency.loaded),
                "latency_clock": latency.clock,
            },
        )
