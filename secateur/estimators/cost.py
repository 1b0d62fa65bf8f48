"""Costs that are counted, not measured: parameters and multiply-accumulate operations."""

from __future__ import annotations

from collections.abc import Sequence

from secateur.anatomy.inputs import longest_text
from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError
from secateur.estimators.base import Estimator, Evaluation
from secateur.spaces.pruning import Plan, PruningSpace
from secateur.supernet import Supernet


class Cost(Estimator):
    """`parameters`, `body_parameters` and `macs` (`batch` texts of `length` tokens, or questions with 4 answers each) of
    sub-networks, by arithmetic."""

    yields = ("parameters", "body_parameters", "macs")
    cost = 0

    def __init__(self, supernet: Supernet, space: PruningSpace, *, batch: int = 1, length: int = 128) -> None:
        self.supernet = supernet
        self.space = space
        self.batch = batch
        self.length = length

    @property
    def fingerprint(self) -> str:
        # What the counts are made of: two models of one shape may differ in width, vocabulary, head or frozen weights.
        nothing, supernet = Plan.of([]), self.supernet
        outside = supernet.parameters(nothing), self._macs(nothing)
        parts = (supernet.anatomy.family, supernet.shape, supernet.counts, outside, self.batch, self.length)
        return digest("cost", *map(str, parts))

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        out = []
        for architecture in architectures:
            plan = self.space.plan(architecture)
            out.append(
                Evaluation(
                    {
                        "parameters": float(self.supernet.parameters(plan)),
                        "body_parameters": float(self.supernet.body_parameters(plan)),
                        "macs": float(self._macs(plan)),
                    }
                )
            )
        return out

    def _macs(self, plan: Plan) -> int:
        longest = longest_text(self.supernet.model.config)
        if self.length > longest:
            raise ConfigurationError(
                f"`length`, the tokens that operations are counted for, must be at most {longest} for this model, "
                f"got {self.length}."
            )
        return self.supernet.macs(plan, self.batch, self.length)
