"""Weight sharing (Klein et al. 2024): order heads and units by importance, train a super-network, search it on its weights."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

from safetensors.numpy import load_file, save_file

from secateur.catalogue import find
from secateur.checkpoints import load
from secateur.checkpoints.pretrained import load_model
from secateur.errors import EvaluationFailure, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.cost import Cost
from secateur.estimators.shared_weights import SharedWeightsError
from secateur.methods.base import Method, Step
from secateur.objectives import Objective
from secateur.rng import generator
from secateur.supernet import Importance, Order, Supernet, importance, reorder
from secateur.supernet.order import ORDER
from secateur.tasks import Examples
from secateur.training.settings import TrainingSettings
from secateur.training.trainer import train_supernet
from secateur.writing import whole

#: Training examples that importance is computed on.
SCORED = 1024
#: The super-network after the warm-up, and the trainer's own checkpoints: kept until the run is done.
WARMED, SCRATCH = "warmed-up", "training"


class WeightSharing(Method):
    """Warm-up and order (where asked for), then training; the search then runs on shared weights."""

    keeps = "train"

    def network(self) -> Supernet:
        bench, folder = self.bench, self.bench.networks
        if bench.done("train"):
            return Supernet(load(folder).to(bench.device))
        if bench.done("warm-up"):
            supernet = Supernet(load(folder / WARMED).to(bench.device))
            if bench.done("order"):
                reorder(supernet, Order.from_arrays(load_file(folder / ORDER)))
            return supernet
        return Supernet(load_model(bench.c.model, bench.data, seed=bench.c.seed, device=bench.device))

    def stages(self) -> list[Step]:
        first: list[Step] = [("warm-up", self.warm_up), ("order", self.order)]
        return [*(first if self.bench.c.order else []), ("train", self.train)]

    def warm_up(self) -> None:
        """An ordinary fine-tuning run: importance means little before the head is trained."""
        with _advising("--order-learning-rate"):
            self._train("warm-up", "standard", self.bench.c.warming_up())
        self.save(self.bench.networks / WARMED)

    def order(self) -> None:
        """Sort every layer's heads and units by importance. The permutation and the scores are kept."""
        bench = self.bench
        # a random part: the data may be sorted by label
        some = generator(bench.c.seed, "order").permutation(len(bench.data.train))[:SCORED]
        examples = Examples({name: [values[i] for i in some] for name, values in bench.data.train.columns.items()})
        with bench.progress.bar("scoring heads and units") as advance:
            total = -(-len(examples) // 32)

            def batches() -> Any:
                for done, batch in enumerate(bench.data.batches(examples, 32)):
                    advance(done + 1, total)
                    yield {name: value.to(bench.device) for name, value in batch.items()}

            scores: Importance = importance(bench.supernet, batches())
        order = scores.order()
        with whole(bench.networks / ORDER) as draft:
            save_file({**scores.as_arrays(), **order.as_arrays()}, draft)
        reorder(bench.supernet, order)

    def train(self) -> None:
        """Train the super-network with the strategy."""
        with _advising("--learning-rate"):
            self._train("train", self.bench.c.strategy, self.bench.c.training())
        self.save(self.bench.networks)

    def estimators(self) -> list[Estimator]:
        bench = self.bench
        objectives = [Objective.parse(o).name for o in bench.c.objectives]
        # Shallower depths are no results where other objectives have to be measured. Latency is predicted.
        sweeping = bool(bench.c.depths) and all(name in ("error", "latency", *Cost.yields) for name in objectives)
        return [
            SharedWeightsError(bench.supernet, bench.space, bench.data, batch_size=bench.c.evaluation_batch, depths=sweeping)
        ]

    def passes(self) -> dict[str, float]:
        c, examples = self.bench.c, len(self.bench.data.train)
        draws = find("strategy", c.strategy)(self.bench.space, k=c.k).draws(1, 2, generator(c.seed, "passes"))
        of_step = sum(1.0 if draw.plan is None else 0.3 for draw in draws)  # random sub-networks are small
        return {
            "warm-up": 3.0 * c.warming_up().examples_read(examples),
            "order": 3.0 * min(SCORED, examples),
            "train": 3.0 * of_step * c.training().examples_read(examples),
        }

    def tidy(self) -> None:
        for leftover in (SCRATCH, WARMED):
            shutil.rmtree(self.bench.networks / leftover, ignore_errors=True)

    def _train(self, name: str, strategy: str, settings: TrainingSettings) -> None:
        bench = self.bench
        chosen = find("strategy", strategy)(bench.space, k=bench.c.k)
        folder = bench.networks / SCRATCH / name
        with bench.progress.bar(f"training ({strategy})") as advance:
            options: dict[str, Any] = {"device": bench.device, "progress": advance, "logs": bench.logs.of(name)}
            rows = train_supernet(bench.supernet, chosen, bench.data, settings, folder, **options)
        bench.keep_curve(name, rows)


@contextlib.contextmanager
def _advising(option: str) -> Iterator[None]:
    """Where training diverges, say which learning rate was too high."""
    try:
        yield
    except EvaluationFailure as failure:
        raise StudyError(f"{failure} Start a new run with a lower {option}.") from failure
