"""Costs that are counted, not measured: parameters and multiply-accumulate operations."""

from __future__ import annotations

from collections.abc import Sequence

from secateur.architecture import Architecture, digest
from secateur.estimators.base import Estimator, Evaluation
from secateur.spaces.pruning import PruningSpace
from secateur.supernet import Supernet


class Cost(Estimator):
    """`parameters`, `body_parameters` and `macs` (one sequence of `length` tokens) of sub-networks, by arithmetic."""

    yields = ("parameters", "body_parameters", "macs")
    cost = 0

    def __init__(self, supernet: Supernet, space: PruningSpace, *, batch: int = 1, length: int = 128) -> None:
        self.supernet = supernet
        self.space = space
        self.batch = batch
        self.length = length

    @property
    def fingerprint(self) -> str:
        shape = self.supernet.shape
        return digest("cost", self.supernet.anatomy.family, str(shape), str(self.batch), str(self.length))

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        out = []
        for architecture in architectures:
            plan = self.space.plan(architecture)
            out.append(
                Evaluation(
                    {
                        "parameters": float(self.supernet.parameters(plan)),
                        "body_parameters": float(self.supernet.body_parameters(plan)),
                        "macs": float(self.supernet.macs(plan, self.batch, self.length)),
                    }
                )
            )
        return out
