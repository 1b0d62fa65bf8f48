"""Error of a network that is assembled from the zoo: a proxy for its error after fine-tuning, without any."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from secateur.architecture import Architecture, digest
from secateur.errors import EvaluationFailure
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.layer_zoo.zoo import LayerZoo
from secateur.estimators.own_weights import save_weights
from secateur.estimators.shared_weights import score
from secateur.spaces.pruning import PruningSpace
from secateur.tasks import TaskData


class LayerZooError(Estimator):
    """`error` on validation data of the assembled sub-network. Its weights are kept in `folder`/key where one is given."""

    yields = ("error",)
    cost = 2

    def __init__(
        self, zoo: LayerZoo, space: PruningSpace, data: TaskData, folder: Path | None = None, *, batch_size: int = 64
    ) -> None:
        self.zoo, self.space, self.data, self.folder, self.batch_size = zoo, space, data, folder, batch_size

    @cached_property
    def fingerprint(self) -> str:
        chosen = [self.data.task.main] if self.data.task.own else []
        return digest("layer zoo", self.zoo.fingerprint, self.data.fingerprint, *chosen)

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [self._one(architecture) for architecture in architectures]

    def _one(self, architecture: Architecture) -> Evaluation:
        try:
            network = self.zoo.network(self.space.plan(architecture))
            found = score(network, self.data.task, self.data.batches("validation", self.batch_size))
        except EvaluationFailure as failure:
            return Evaluation(failure=str(failure))
        if self.folder is not None:
            save_weights(network, self.folder / architecture.key)
        return Evaluation({"error": found.pop("error")}, details=found)
