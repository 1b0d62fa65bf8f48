"""Masks and weights trained together under a budget that falls: on the way down, the network at each share is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from secateur.methods.learned_masks.scores import Scores, Switches
from secateur.methods.learned_masks.spending import Descent, affordable, cost, penalty, threshold_for
from secateur.methods.learned_masks.switching import Switching, switched
from secateur.methods.learned_masks.ways import LAGRANGIAN, SCHEDULE
from secateur.methods.prices import Prices
from secateur.supernet import Supernet
from secateur.tasks import TaskData
from secateur.training.fine_tune import FineTuneTrainer
from secateur.training.logs import NO_LOGS, Logs
from secateur.training.settings import TrainingSettings
from secateur.training.stage_trainer import Told, run_stage, task_arguments

#: Under this name the scores are a part of the network while it is trained: so they are in its checkpoints.
NAME = "learned_masks"
#: How far a score can go in all steps, where no rate is given. Much more, and scores forget the importance that they began
#: with; much less, and nothing is learnt (recipes/hmnas).
TRAVEL = 1.5


@dataclass(frozen=True)
class Learning:
    """How masks are learnt: at which `rate` (layers and groups at `slow` times it), by which way of `spending`, and whether the
    weights are trained with them."""

    rate: float
    way: str = SCHEDULE
    slow: float = 0.1
    weights: bool = True


@dataclass(frozen=True)
class Budget:
    """What is paid for, what the `whole` network costs, and how the share of it falls that may be spent."""

    prices: Prices
    whole: float
    descent: Descent

    def spendable(self, share: float) -> float:
        """What this share is, so that rounding takes nothing away that it pays for exactly."""
        return share * self.whole * (1 + 1e-9)

    def threshold(self, scores: Scores, share: float) -> float:
        """The lowest at which masks cost at most this share."""
        return threshold_for(scores, self.prices, self.spendable(share))


def kept(scores: Scores, budgets: Sequence[Budget], place: int) -> Switches:
    """What is on where the share at this place may be spent of each budget, and not more: nothing only where nothing fits."""
    with torch.no_grad():
        found = scores.above(max(budget.threshold(scores, budget.descent.shares[place]) for budget in budgets))
        if found.heads.any() or found.units.any():
            return found
        return affordable(scores, [(budget.prices, budget.spendable(budget.descent.shares[place])) for budget in budgets])


class MaskTrainer(FineTuneTrainer):
    """Trainer of a network under masks."""

    def __init__(
        self, scores: Scores, budgets: Sequence[Budget], switching: Switching, learning: Learning, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.scores, self.budgets, self.switching, self.learning = scores, budgets, switching, learning

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        targets = [(budget, budget.descent.target(self.state.global_step)) for budget in self.budgets]
        priced, scores = self.learning.way == LAGRANGIAN, self.scores
        threshold = 0.0 if priced else max(budget.threshold(scores, target) for budget, target in targets)
        self.switching.now = now = scores.above(threshold)
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        if priced:
            beyond = [cost(budget.prices, now) / budget.whole - target for budget, target in targets]
            loss = loss + penalty(scores, torch.stack(beyond).amax().float())
        return (loss, outputs) if return_outputs else loss

    def create_optimizer(self, model: Any = None) -> Any:
        """That of the settings; scores have rates of their own, and no weight decay."""
        if self.optimizer is None:
            learning, scores = self.learning, dict(self.scores.named_parameters())
            optimizer: Any = super().create_optimizer(model)
            own = {id(part) for part in scores.values()}
            for group in optimizer.param_groups:
                group["params"] = [part for part in group["params"] if id(part) not in own]
                group["lr"] = self.args.learning_rate if learning.weights else 0.0
            for names, rate in ((("heads", "units"), learning.rate), (("layers", "groups"), learning.slow * learning.rate)):
                optimizer.add_param_group({"params": [scores[name] for name in names], "lr": rate, "weight_decay": 0.0})
        return self.optimizer


class Keeping(TrainerCallback):
    """Hands out what is kept whenever a share has been held to its end, while the network is without its scores."""

    def __init__(self, model: Any, scores: Scores, budgets: Sequence[Budget], keep: Callable[[int, Switches], None]) -> None:
        self.model, self.scores, self.budgets, self.keep = model, scores, budgets, keep
        self.ends = budgets[0].descent.ends()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        for place in self.ends.get(state.global_step, ()):
            delattr(self.model, NAME)
            try:
                self.keep(place, kept(self.scores, self.budgets, place))
            finally:
                self.model.add_module(NAME, self.scores)


def learn_masks(
    supernet: Supernet,
    scores: Scores,
    budgets: Sequence[Budget],
    data: TaskData,
    settings: TrainingSettings,
    folder: Path,
    keep: Callable[[int, Switches], None],
    *,
    learning: Learning,
    teacher: Any | None = None,
    examples: Any | None = None,
    device: str = "cpu",
    progress: Told | None = None,
    logs: Logs = NO_LOGS,
) -> list[dict[str, float]]:
    """Train a network and its scores, in place, so that they keep to all budgets, whose shares are alike in number. `keep` is
    told the place of each share, in order, and what is on there.

    Goes on from the folder's last checkpoint, and then tells what comes after it. Returns the log rows.
    """
    model, given = supernet.model, task_arguments(data, settings, folder, device, progress, logs, examples)
    given["callbacks"].append(Keeping(model, scores, budgets, keep))
    model.add_module(NAME, scores.to(device))
    try:
        with switched(supernet) as switching:
            args = (scores, budgets, switching, learning)
            return run_stage(lambda: MaskTrainer(*args, teacher=teacher, model=model, **given), model, folder, logs)
    finally:
        delattr(model, NAME)
