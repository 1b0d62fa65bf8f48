"""The latency of an architecture's network on this machine, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import nn

from secateur.architecture import Architecture, digest
from secateur.devices.device import describe_device
from secateur.devices.latency import measure_model
from secateur.devices.runtime import check_setup, runtime_version
from secateur.devices.setup import Setup
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build, measured


class LatencyEstimator(Estimator):
    """Seconds of one forward pass, measured as `setup` says: the median of as many repeats as its interval needs.

    ONNX Runtime takes some seconds more per network, for the export. `identity` names what `build` builds from (a digest of
    the model's configuration), so that the numbers of two models are never mixed up.
    """

    yields = ("latency",)
    cost: ClassVar[int] = 2

    def __init__(self, build: Build, setup: Setup, *, identity: str = "") -> None:
        self.device = check_setup(setup)
        self.build, self.setup, self.identity = build, setup, identity

    @property
    def fingerprint(self) -> str:
        return digest(
            "latency",
            self.identity,
            describe_device(self.device),
            f"{self.setup.threads} threads",
            runtime_version(self.setup.runtime),
            self.setup.tokens,
            self.setup.kind,
        )

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return measured(self.build, architectures, self._measure)

    def _measure(self, network: nn.Module) -> Evaluation:
        latency = measure_model(network, self.setup)
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
