"""The weights of trials that have their own: a folder for each architecture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from safetensors.torch import load_model, save_model

from secateur.architecture import Architecture, digest
from secateur.errors import EvaluationFailure
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.shared_weights import evaluation, score, weights_digest
from secateur.spaces.pruning import PruningSpace
from secateur.supernet import Supernet
from secateur.tasks import TaskData
from secateur.training.checkpoints import loading
from secateur.writing import whole

#: The file in the folder of an architecture.
WEIGHTS = "weights.safetensors"


def save_weights(network: Any, folder: Path) -> None:
    """Write the weights, whole or not at all."""
    with whole(folder / WEIGHTS) as draft:
        save_model(network, str(draft))


def with_weights(network: Any, folder: Path) -> Any:
    """A network of the right sizes with the weights in a folder, in eval mode. Raises StudyError where they are damaged."""
    with loading(str(folder)):
        load_model(network, folder / WEIGHTS, device=str(next(network.parameters()).device))
    return network.eval()


class OwnWeightsError(Estimator):
    """`error` on validation data of sub-networks whose weights lie in `folder`/key; `supernet` is the network they are of."""

    cost = 2

    def __init__(self, supernet: Supernet, space: PruningSpace, data: TaskData, folder: Path, *, batch_size: int = 64) -> None:
        self.supernet, self.space, self.data, self.folder, self.batch_size = supernet, space, data, folder, batch_size
        self.yields = data.task.qualities

    @cached_property
    def fingerprint(self) -> str:
        return digest("own weights", weights_digest(self.supernet.model), self.data.fingerprint)

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [self._one(architecture) for architecture in architectures]

    def _one(self, architecture: Architecture) -> Evaluation:
        network = self.supernet.extract(self.space.plan(architecture))
        try:
            network = with_weights(network, self.folder / architecture.key)
            found = score(network, self.data.task, self.data.batches("validation", self.batch_size))
        except EvaluationFailure as failure:
            return Evaluation(failure=str(failure))
        return evaluation(self.data.task, found)
