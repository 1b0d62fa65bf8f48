"""The trainings of a run of `secateur prune`, as its settings have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from secateur.search.stopping import Stopping
from secateur.training.settings import TrainingSettings


class Trainings:
    """What settings say of each training."""

    # of the settings that this is a part of
    order_epochs: float
    order_learning_rate: float
    trial_epochs: float
    stop_early: str | None
    mask_epochs: float
    polish_epochs: float
    polish_learning_rate: float | None
    lora_rank: int
    part: Callable[..., Any]

    def training(self, **changes: Any) -> TrainingSettings:
        """The settings of super-network training; `changes` for the other training runs."""
        found: TrainingSettings = self.part(TrainingSettings, **{"lora_rank": 0, **changes})
        return found

    def warming_up(self) -> TrainingSettings:
        return self.training(epochs=self.order_epochs, learning_rate=self.order_learning_rate)

    def fine_tuning(self) -> TrainingSettings:
        """Of the unpruned network, where a method begins with it."""
        return self.training(learning_rate=self.order_learning_rate, lora_rank=self.lora_rank)

    def trial_training(self) -> TrainingSettings:
        """Of a candidate that is trained by itself."""
        return self.training(epochs=self.trial_epochs, lora_rank=self.lora_rank)

    def trial_points(self) -> list[float]:
        """Epochs of a candidate after which its error is measured, where its end will be extrapolated from them."""
        return [] if self.stop_early is None else Stopping.parse(self.stop_early).points(self.trial_epochs)

    def mask_training(self) -> TrainingSettings:
        """Of masks that are learnt, with the weights or without."""
        return self.training(epochs=self.mask_epochs, schedule="constant")

    def polishing(self) -> TrainingSettings:
        return self.training(epochs=self.polish_epochs, learning_rate=self.polish_learning_rate, lora_rank=self.lora_rank)
