"""Error of a sub-network after a fine-tuning of its own: what standard NAS pays for every candidate."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from secateur.architecture import Architecture, digest
from secateur.errors import EvaluationFailure
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build
from secateur.estimators.own_weights import save_weights, with_weights
from secateur.estimators.shared_weights import score
from secateur.tasks import Examples, TaskData
from secateur.training.fine_tune import fine_tune
from secateur.training.logs import NO_LOGS, Logs
from secateur.training.settings import TrainingSettings
from secateur.writing import discard

#: In the folder of an architecture: where its training can go on, and a file that says that it is at its end.
TRAINING, ENDED = "training", "ended"


class FineTuned(Estimator):
    """`error` on validation data after `budget` epochs of a training that has the settings' epochs in all.

    Each network is built and trained by itself in `folder`/key. A larger budget goes on from where a smaller one stopped; where
    that is gone, it begins anew and ends the same. `examples`: the training set, with what a teacher said of it where the
    networks are to be distilled, asked for when the first one is trained; a `teacher` is asked at each step instead.
    `identity` names the weights that `build` gives and who teaches.
    """

    yields = ("error",)
    cost = 3

    def __init__(
        self,
        build: Build,
        data: TaskData,
        settings: TrainingSettings,
        folder: Path,
        *,
        identity: str,
        examples: Callable[[], Examples] | None = None,
        teacher: Any | None = None,
        device: str = "cpu",
        batch_size: int = 64,
        logs: Callable[[Architecture], Logs] = lambda _: NO_LOGS,
    ) -> None:
        self.build, self.data, self.settings, self.folder = build, data, settings, folder
        self.identity, self.teacher = identity, teacher
        self.device, self.batch_size, self.logs = device, batch_size, logs
        #: Told how many epochs of its training a network has behind it, and the loss where it is known.
        self.progress: Callable[[float, float | None], None] = lambda _epochs, _loss: None
        #: Key → the log rows of its training, from its beginning.
        self.rows: dict[str, list[dict[str, float]]] = {}
        self._told = examples

    @cached_property
    def fingerprint(self) -> str:
        return digest("fine-tuned", self.identity, self.data.fingerprint, str(sorted(self.settings.as_dict().items())))

    @cached_property
    def examples(self) -> Examples | None:
        return None if self._told is None else self._told()

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [self._one(architecture, budget) for architecture in architectures]

    def network(self, architecture: Architecture) -> Any:
        """The network with the weights of its last evaluation."""
        return with_weights(self.build(architecture), self.folder / architecture.key)

    def _one(self, architecture: Architecture, budget: float | None) -> Evaluation:
        folder = self.folder / architecture.key
        last = budget is None or budget >= self.settings.epochs
        try:
            if last and (folder / ENDED).is_file():
                network = self.network(architecture)  # its process ended before the result was stored
            else:
                network = self.build(architecture)
                self._train(network, folder, None if last else budget, self.logs(architecture))
        except EvaluationFailure as failure:
            shutil.rmtree(folder, ignore_errors=True)
            return Evaluation(failure=str(failure))
        found = score(network, self.data.task, self.data.batches("validation", self.batch_size))
        return Evaluation({"error": found.pop("error")}, details=found)

    def _train(self, network: Any, folder: Path, until: float | None, logs: Logs) -> None:
        self.rows[folder.name] = fine_tune(
            network,
            self.data,
            self.settings,
            folder / TRAINING,
            examples=self.examples,
            teacher=self.teacher,
            until=until,
            device=self.device,
            progress=lambda step, steps, loss: self.progress(self.settings.epochs * step / steps, loss),
            logs=logs,
        )
        save_weights(network, folder)
        if until is None:  # nothing goes on from here
            (folder / ENDED).touch()
            discard(folder / TRAINING)
