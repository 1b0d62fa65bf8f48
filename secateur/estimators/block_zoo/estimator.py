"""The block zoo as an estimator: the accuracy of networks assembled from its blocks, as a proxy for trained accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from secateur.architecture import Architecture, digest
from secateur.errors import EvaluationFailure
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.block_zoo.zoo import BlockZoo


class BlockZooEstimator(Estimator):
    """`block_zoo`: the mean accuracy of the assembled network on the batches that its blocks were distilled on."""

    yields = ("block_zoo",)
    cost: ClassVar[int] = 1

    def __init__(self, zoo: BlockZoo) -> None:
        self.zoo = zoo

    @property
    def fingerprint(self) -> str:
        return digest("block_zoo", self.zoo.fingerprint, str(self.zoo.settings.recalibrate))

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [self._one(architecture) for architecture in architectures]

    def _one(self, architecture: Architecture) -> Evaluation:
        try:
            return Evaluation({"block_zoo": self.zoo.score(architecture)})
        except EvaluationFailure as failure:
            return Evaluation(failure=str(failure))
