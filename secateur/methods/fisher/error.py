"""Error of a sub-network with tuned masks, and no training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import torch

from secateur.architecture import Architecture, digest
from secateur.errors import EvaluationFailure
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.own_weights import save_weights
from secateur.estimators.shared_weights import evaluation, score, weights_digest
from secateur.methods.base import TRIALS, Bench
from secateur.methods.fisher.examples import tuning_batches
from secateur.methods.fisher.tune import DAMPING, LARGEST, tuned
from secateur.spaces.pruning import PruningSpace
from secateur.supernet import Supernet
from secateur.tasks import TaskData


class TunedMasksError(Estimator):
    """`error` on validation data of the sub-network tuned on `batches`. Its weights are kept in `folder`/key."""

    cost = 2

    def __init__(
        self,
        supernet: Supernet,
        space: PruningSpace,
        data: TaskData,
        batches: Sequence[Mapping[str, torch.Tensor]],
        folder: Path,
        *,
        batch_size: int = 64,
    ) -> None:
        self.supernet, self.space, self.data = supernet, space, data
        self.batches, self.folder, self.batch_size = batches, folder, batch_size
        self.yields = data.task.qualities

    @classmethod
    def of(cls, bench: Bench, space: PruningSpace) -> TunedMasksError:
        """For the network, the data and the trials of a run."""
        folder, size = bench.networks / TRIALS, bench.c.evaluation_batch
        return cls(bench.supernet, space, bench.data, tuning_batches(bench), folder, batch_size=size)

    @cached_property
    def fingerprint(self) -> str:
        tuning = f"{DAMPING} {LARGEST} {len(self.batches)}"
        return digest("tuned masks", weights_digest(self.supernet.model), self.data.fingerprint, tuning)

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [self._one(architecture) for architecture in architectures]

    def _one(self, architecture: Architecture) -> Evaluation:
        network, _ = tuned(self.supernet, self.space.plan(architecture), self.batches)
        try:
            found = score(network, self.data.task, self.data.batches("validation", self.batch_size))
        except EvaluationFailure as failure:
            return Evaluation(failure=str(failure))
        save_weights(network, self.folder / architecture.key)
        return evaluation(self.data.task, found)
