"""The peak memory of an architecture's network: measured on this machine, or followed on the meta device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn

from secateur.architecture import Architecture, digest
from secateur.devices.device import describe_device, resolve_device
from secateur.devices.inputs import check_sizes, dummy_inputs
from secateur.devices.memory import peak_memory
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build, measured


class MemoryEstimator(Estimator):
    """Bytes at the peak of one forward pass on `batch` × `length` tokens, without a KV cache: weights and live activations.

    Where `build` makes networks on the meta device (`Builder.meta`), nothing is computed: the figure is a CPU's.
    `identity` names what `build` builds from, as for latency.
    """

    yields = ("memory",)
    cost: ClassVar[int] = 2

    def __init__(
        self,
        build: Build,
        *,
        device: str = "cpu",
        batch: int = 1,
        length: int = 128,
        kind: str = "classification",
        identity: str = "",
    ) -> None:
        check_sizes(batch, length, kind)
        self.build = build
        self.device = resolve_device(device)
        self.batch, self.length, self.kind = batch, length, kind
        self.identity = identity

    @property
    def fingerprint(self) -> str:
        # The bytes do not depend on which CPU it is; GPUs choose kernels, and with them workspaces, by model.
        device = "cpu" if self.device.type == "cpu" else describe_device(self.device)
        return digest(
            "memory without cache",
            self.identity,
            device,
            f"torch {torch.__version__}",
            f"{self.batch} x {self.length}",
            self.kind,
        )

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return measured(self.build, architectures, self._measure)

    def _measure(self, network: nn.Module) -> Evaluation:
        if next(network.parameters()).device.type != "meta":
            network.to(self.device)
        memory = peak_memory(network, dummy_inputs(network, self.batch, self.length, self.kind))
        return Evaluation(
            values={"memory": float(memory.peak)},
            details={"memory_weights": float(memory.weights), "memory_activations": float(memory.activations)},
        )
