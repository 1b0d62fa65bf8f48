"""What most ways to prune begin with: an ordinary fine-tuning of the unpruned network, the one that all is compared with."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from secateur.checkpoints import load
from secateur.checkpoints.pretrained import load_model
from secateur.errors import EvaluationFailure, StudyError
from secateur.methods.base import Method, Rows, Step
from secateur.supernet import Supernet
from secateur.training.fine_tune import fine_tune

#: Trainers' own checkpoints: kept until the run is done.
SCRATCH = "training"


class FineTunedFirst(Method):
    """One stage, `fine-tune`. What follows works on the fine-tuned network, or on the pre-trained one again."""

    keeps = "fine-tune"

    def network(self) -> Supernet:
        bench = self.bench
        if bench.done(self.keeps):
            return Supernet(load(bench.networks, bench.carried).to(bench.device))
        return self.pretrained()

    def pretrained(self) -> Supernet:
        """The network before any training."""
        bench = self.bench
        options: dict[str, Any] = {"seed": bench.c.seed, "device": bench.device, "weights": bench.carried}
        return Supernet(load_model(bench.c.model, bench.data, **options))

    def stages(self) -> list[Step]:
        return [("fine-tune", self.fine_tune)]

    def trainings(self) -> dict[str, Callable[[], Rows]]:
        return {"fine-tune": self._fine_tune}

    def fine_tune(self) -> None:
        """Train the whole network."""
        self.bench.keep_curve("fine-tune", self._fine_tune())
        self.save(self.bench.networks)

    def _fine_tune(self) -> Rows:
        bench = self.bench
        model, folder = bench.supernet.model, bench.networks / SCRATCH / "fine-tune"
        with bench.progress.bar("fine-tuning the unpruned network") as advance, advising("--order-learning-rate"):
            options: dict[str, Any] = {"device": bench.device, "progress": advance, "logs": bench.logs.of("fine-tune")}
            return fine_tune(model, bench.data, bench.c.fine_tuning(), folder, **options)

    def passes(self) -> dict[str, float]:
        return {"fine-tune": 3.0 * self.bench.c.fine_tuning().examples_read(len(self.bench.data.train))}

    def tidy(self) -> None:
        shutil.rmtree(self.bench.networks / SCRATCH, ignore_errors=True)


@contextlib.contextmanager
def advising(option: str) -> Iterator[None]:
    """Where training diverges, say which learning rate was too high."""
    try:
        yield
    except EvaluationFailure as failure:
        raise StudyError(f"{failure} Start a new run with a lower {option}.") from failure
