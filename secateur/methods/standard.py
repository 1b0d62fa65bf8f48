"""Standard NAS (Klein et al. 2024, section 3.1): each candidate is cut from the pre-trained network and fine-tuned alone."""

from __future__ import annotations

import shutil
from typing import Any

from secateur.architecture import digest
from secateur.estimators.base import Estimator
from secateur.estimators.fine_tuned import TRAINING, FineTuned
from secateur.estimators.own_weights import WEIGHTS
from secateur.estimators.shared_weights import weights_digest
from secateur.methods.base import TRIALS
from secateur.methods.fine_tuned_first import FineTunedFirst
from secateur.supernet import Supernet
from secateur.writing import remove


class Standard(FineTunedFirst):
    """The unpruned network is fine-tuned first; then each trial trains, and keeps its weights while it is on the front."""

    own = True
    budgets = True

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
            **teaching,
        )

    def ended(self, study: Any, left: int) -> None:
        """Keep the weights of the front, and what a later trial may go on from; where there is a short list, all weights."""
        folder = self.bench.networks / TRIALS
        if self.lists or not folder.is_dir():
            return
        best = {t.key for t in study.front()}
        goes_on = study.searcher.may_continue(left)
        for path in list(folder.iterdir()):
            if path.name not in best | goes_on:
                shutil.rmtree(path, ignore_errors=True)
            elif path.name not in best:
                remove(path / WEIGHTS)
            elif path.name not in goes_on:
                shutil.rmtree(path / TRAINING, ignore_errors=True)

    def tidy(self) -> None:
        super().tidy()
        for path in (self.bench.networks / TRIALS).glob(f"*/{TRAINING}"):
            shutil.rmtree(path, ignore_errors=True)
