"""Weight sharing (Klein et al. 2024): order heads and units by importance, train a super-network, search it on its weights."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any, ClassVar

from safetensors.numpy import load_file

from secateur.catalogue import find
from secateur.checkpoints import load
from secateur.checkpoints.pretrained import load_model
from secateur.estimators.base import Estimator
from secateur.estimators.cost import Cost
from secateur.estimators.shared_weights import SharedWeightsError
from secateur.methods.base import Method, Rows, Step
from secateur.methods.fine_tuned_first import SCRATCH, advising
from secateur.methods.ordering import order_by_importance
from secateur.objectives import QUALITIES, Objective
from secateur.rng import generator
from secateur.supernet import Order, Supernet, reorder
from secateur.supernet.order import ORDER
from secateur.training.settings import TrainingSettings
from secateur.training.trainer import train_supernet
from secateur.trial import MASKS

#: The super-network after the warm-up: kept until the run is done.
WARMED = "warmed-up"


class WeightSharing(Method):
    """Warm-up and order (where asked for), then training; the search then runs on shared weights."""

    keeps = "train"
    uses: ClassVar[tuple[str, ...]] = ("strategy", "k", "depths", "order", "order_epochs", "learning_rate", "masks")

    def network(self) -> Supernet:
        bench, folder = self.bench, self.bench.networks
        if bench.done("train"):
            return Supernet(load(folder, bench.carried).to(bench.device))
        if bench.done("warm-up"):
            supernet = Supernet(load(folder / WARMED).to(bench.device))
            if bench.done("order"):
                reorder(supernet, Order.from_arrays(load_file(folder / ORDER)))
            return supernet
        return Supernet(load_model(bench.c.model, bench.data, seed=bench.c.seed, device=bench.device))

    def stages(self) -> list[Step]:
        first: list[Step] = [("warm-up", self.warm_up), ("order", lambda: order_by_importance(self.bench))]
        return [*(first if self.bench.c.order else []), ("train", self.train)]

    def trainings(self) -> dict[str, Callable[[], Rows]]:
        c = self.bench.c
        return {
            "warm-up": lambda: self._train("warm-up", "standard", c.warming_up(), "--order-learning-rate"),
            "train": lambda: self._train("train", c.strategy, c.training(), "--learning-rate"),
        }

    def warm_up(self) -> None:
        """An ordinary fine-tuning run: importance means little before the head is trained."""
        self.bench.keep_curve("warm-up", self.trainings()["warm-up"]())
        self.save(self.bench.networks / WARMED)

    def train(self) -> None:
        """Train the super-network with the strategy."""
        self.bench.keep_curve("train", self.trainings()["train"]())
        self.save(self.bench.networks)

    def estimators(self) -> list[Estimator]:
        bench = self.bench
        objectives = [Objective.parse(o).name for o in bench.c.objectives]
        # Shallower depths are no results where other objectives have to be measured. Latency is predicted.
        sweeping = bool(bench.c.depths) and all(name in (*QUALITIES, "latency", *Cost.yields) for name in objectives)
        return [
            SharedWeightsError(bench.supernet, bench.space, bench.data, batch_size=bench.c.evaluation_batch, depths=sweeping)
        ]

    def teachers(self) -> list[Any]:
        """The super-network, and the network that was fine-tuned before it where there is one."""
        folder = self.bench.networks / WARMED
        warmed = [load(folder).to(self.bench.device)] if folder.is_dir() else []
        return [*super().teachers(), *warmed]

    def passes(self) -> dict[str, float]:
        c, examples = self.bench.c, len(self.bench.data.train)
        draws = find("strategy", c.strategy)(self.bench.space, k=c.k).draws(1, 2, generator(c.seed, "passes"))
        of_step = sum(1.0 if draw.plan is None else 0.3 for draw in draws)  # random sub-networks are small
        return {
            "warm-up": 3.0 * c.warming_up().examples_read(examples),
            "order": 3.0 * min(c.importance_examples, examples),
            "train": 3.0 * of_step * c.training().examples_read(examples),
            MASKS: 3.0 * min(c.importance_examples, examples),
        }

    def tidy(self) -> None:
        for leftover in (SCRATCH, WARMED):
            shutil.rmtree(self.bench.networks / leftover, ignore_errors=True)

    def _train(self, name: str, strategy: str, settings: TrainingSettings, rate: str) -> Rows:
        bench = self.bench
        chosen = find("strategy", strategy)(bench.space, k=bench.c.k)
        folder = bench.networks / SCRATCH / name
        with bench.progress.bar(f"training ({strategy})") as advance, advising(rate):
            options: dict[str, Any] = {"device": bench.device, "progress": advance, "logs": bench.logs.of(name)}
            return train_supernet(bench.supernet, chosen, bench.data, settings, folder, **options)
