"""Error of a sub-network after a fine-tuning of its own: what standard NAS pays for every candidate."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from secateur.architecture import Architecture, digest
from secateur.errors import EvaluationFailure
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.building import Build
from secateur.estimators.own_weights import save_weights, with_weights
from secateur.estimators.shared_weights import evaluation, score
from secateur.tasks import Examples, TaskData
from secateur.training.fine_tune import fine_tune
from secateur.training.logs import NO_LOGS, Logs
from secateur.training.settings import TrainingSettings
from secateur.writing import discard, write_whole

#: In the folder of an architecture: where its training can go on, a file that says that it is at its end, and its curve.
TRAINING, ENDED, CURVE = "training", "ended", "curve.json"


class FineTuned(Estimator):
    """`error` on validation data after `budget` epochs of a training that has the settings' epochs in all; of a language model
    also `perplexity`.

    Each network is built and trained by itself in `folder`/key. A larger budget goes on from where a smaller one stopped; where
    that is gone, it begins anew and ends the same. `examples`: the training set, with what a teacher said of it where the
    networks are to be distilled, asked for when the first one is trained; a `teacher` is asked at each step instead.
    `identity` names the weights that `build` gives and who teaches. After so many epochs as `points` say, a training is scored
    on its way: its curve has these errors.
    """

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
        points: Sequence[float] = (),
    ) -> None:
        self.build, self.data, self.settings, self.folder = build, data, settings, folder
        self.identity, self.teacher = identity, teacher
        self.yields = data.task.qualities
        self.device, self.batch_size, self.logs = device, batch_size, logs
        self.points = sorted(points)
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
        curve = _curve(folder)
        try:
            if last and (folder / ENDED).is_file():
                network = self.network(architecture)  # its process ended before the result was stored
            else:
                network = self.build(architecture)
                end = self.settings.epochs if last or budget is None else budget
                looks = [point for point in self.points if point < end and point not in curve]
                look = partial(self._look, network, folder, curve)
                self._train(network, folder, None if last else budget, self.logs(architecture), looks=looks, look=look)
        except EvaluationFailure as failure:
            shutil.rmtree(folder, ignore_errors=True)
            return Evaluation(failure=str(failure))
        found = evaluation(self.data.task, self._score(network))
        if self.points:
            curve[self.settings.epochs if last or budget is None else budget] = dict(found.values)
            write_whole(json.dumps(list(curve.items())), folder / CURVE)
        return replace(found, curve=tuple(sorted(curve.items())))

    def _score(self, network: Any) -> dict[str, float]:
        return score(network, self.data.task, self.data.batches("validation", self.batch_size))

    def _look(self, network: Any, folder: Path, curve: dict[float, dict[str, float]], points: Sequence[float]) -> None:
        """Add the network's error on its way to its curve, and keep that: when it goes on later, this does not come again."""
        found = evaluation(self.data.task, self._score(network)).values
        curve |= {point: dict(found) for point in points}
        write_whole(json.dumps(list(curve.items())), folder / CURVE)

    def _train(self, network: Any, folder: Path, until: float | None, logs: Logs, **looking: Any) -> None:
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
            **looking,
        )
        save_weights(network, folder)
        if until is None:  # nothing goes on from here
            (folder / ENDED).touch()
            discard(folder / TRAINING)


def _curve(folder: Path) -> dict[float, dict[str, float]]:
    """Epochs → the errors (and perplexities) that a training has had on its way, where they were kept."""
    try:
        kept = json.loads((folder / CURVE).read_text(encoding="utf-8"))
        return {float(at): {str(name): float(value) for name, value in found.items()} for at, found in kept}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
