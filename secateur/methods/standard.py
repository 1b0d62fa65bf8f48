"""Standard NAS (Klein et al. 2024, section 3.1): each candidate is cut from the pre-trained network and fine-tuned alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from secateur.architecture import digest
from secateur.checkpoints.folders import local
from secateur.estimators.base import Estimator
from secateur.estimators.fine_tuned import TRAINING, FineTuned
from secateur.estimators.own_weights import WEIGHTS
from secateur.estimators.shared_weights import weights_digest
from secateur.methods.base import TRIALS
from secateur.methods.fine_tuned_first import FineTunedFirst
from secateur.supernet import Supernet
from secateur.trial import Status
from secateur.writing import discard, is_aside, remove


class Standard(FineTunedFirst):
    """The unpruned network is fine-tuned first; then each trial trains, and keeps its weights while it is on the front."""

    own = True
    budgets = True
    uses: ClassVar[tuple[str, ...]] = ("trial_epochs", "learning_rate")

    def reads(self) -> list[Path]:
        folder = local(self.bench.c.model)
        return [*super().reads(), *([] if folder is None else [folder])]

    def estimators(self) -> list[Estimator]:
        return [self._fine_tuned(self.pretrained())]

    def _fine_tuned(self, source: Supernet, **teaching: Any) -> FineTuned:
        bench = self.bench
        return FineTuned(
            lambda architecture: source.extract(bench.space.plan(architecture)),
            bench.data,
            bench.c.trial_training(),
            bench.networks / TRIALS,
            identity=digest(weights_digest(source.model), *teaching),
            device=bench.device,
            batch_size=bench.c.evaluation_batch,
            points=bench.c.trial_points(),
            **teaching,
        )

    def ended(self, study: Any, left: int) -> None:
        """Keep the weights of the front, and what a later trial may go on from; where there is a short list, all weights."""
        folder = self.bench.networks / TRIALS
        if self.lists or not folder.is_dir():
            return
        paths = list(folder.iterdir())  # before the trials are read: what another driver begins from now on is not among them
        trials = study.trials()
        best, running = {t.key for t in study.front(trials)}, {t.key for t in trials if t.status == Status.RUNNING}
        goes_on, known = study.searcher.may_continue(left), {t.key for t in study.searcher.history}
        for path in paths:
            if path.name in running or path.name not in known or is_aside(path):  # another worker's, or another driver's
                continue
            if path.name not in best | goes_on:
                discard(path)
            elif path.name not in best:
                remove(path / WEIGHTS)
            elif path.name not in goes_on:
                discard(path / TRAINING)

    def tidy(self) -> None:
        super().tidy()
        for path in (self.bench.networks / TRIALS).glob(f"*/{TRAINING}"):
            discard(path)

    @property
    def expected(self) -> float:
        """About how many whole networks are trained as trials."""
        return 0.3 * float(self.bench.c.trials)

    def passes(self) -> dict[str, float]:
        read = self.bench.c.trial_training().examples_read(len(self.bench.data.train))
        return {**super().passes(), "search": 3.0 * self.expected * read}
