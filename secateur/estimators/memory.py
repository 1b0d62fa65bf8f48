"""The peak memory of an architecture's network: measured on this machine, or followed on the meta device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import nn

from secateur.architecture import Architecture, digest
from secateur.devices.device import describe_device, resolve_device
from secateur.devices.inputs import dummy_inputs
from secateur.devices.memory import Memory, peak_memory
from secateur.devices.setup import Setup
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build, measured


class MemoryEstimator(Estimator):
    """Bytes at the peak of one forward pass on the setup's tokens, without a KV cache: weights and live activations.

    Where `build` makes networks on the meta device (`Builder.meta`), nothing is computed: the figure is a CPU's.
    `identity` names what `build` builds from, as for latency.
    """

    yields = ("memory",)
    cost: ClassVar[int] = 2

    def __init__(self, build: Build, setup: Setup, *, identity: str = "") -> None:
        self.device = resolve_device(setup.check().device)
        self.build, self.setup, self.identity = build, setup, identity

    @property
    def fingerprint(self) -> str:
        # The bytes do not depend on which CPU it is; GPUs choose kernels, and with them workspaces, by model.
        device = "cpu" if self.device.type == "cpu" else describe_device(self.device)
        return digest(
            "memory without cache",
            self.identity,
            device,
            f"torch {torch.__version__}",
            self.setup.tokens,
            self.setup.kind,
        )

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return measured(self.build, architectures, self._measure)

    def _measure(self, network: nn.Module) -> Evaluation:
        if next(network.parameters()).device.type != "meta":
            network.to(self.device)
        setup = self.setup
        inputs = dummy_inputs(network, setup.batch, setup.length, setup.kind, setup.remembered)
        found = peak_memory(network, inputs)
        held = sum(states.nbytes for states in inputs.get("mems", ()))  # as much a part of the network as its weights
        return evaluation_of(replace(found, activations=found.activations + held))


def evaluation_of(memory: Memory) -> Evaluation:
    """The peak as a value, its parts as details."""
    return Evaluation(
        values={"memory": float(memory.peak)},
        details={"memory_weights": float(memory.weights), "memory_activations": float(memory.activations)},
    )
