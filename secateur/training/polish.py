"""Polishing: fine-tune one extracted sub-network, with the super-network as its teacher."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer

from secateur.training.distillation import distillation_loss
from secateur.training.settings import TrainingSettings
from secateur.training.trainer import Watch, run_trainer, training_arguments


class PolishTrainer(Trainer):
    """Trainer whose loss adds the distance to a frozen teacher's outputs."""

    def __init__(
        self, teacher: Any, *, settings: TrainingSettings, regression: bool, language_modelling: bool, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.teacher = teacher
        self.settings = settings
        self.regression = regression
        self.model_accepts_loss_kwargs = language_modelling

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        if self.settings.distillation_weight:
            with torch.no_grad():
                told = self.teacher(**{name: value for name, value in inputs.items() if name != "labels"})
            loss = loss + self.settings.distillation_weight * distillation_loss(
                outputs["logits"],
                told["logits"],
                temperature=self.settings.temperature,
                regression=self.regression,
                squared_temperature=self.settings.squared_temperature,
                labels=inputs.get("labels"),
            )
        return (loss, outputs) if return_outputs else loss


def polish(
    student: Any,
    teacher: Any,
    data: Any,
    settings: TrainingSettings,
    folder: Path,
    *,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, float]]:
    """Fine-tune `student` in place on `data` (a TaskData). Returns the log rows."""
    teacher.eval()
    trainer = PolishTrainer(
        teacher,
        settings=settings,
        regression=data.task.kind == "regression",
        language_modelling=data.task.kind == "language_modelling",
        model=student,
        args=training_arguments(settings, folder, len(data.train), device),
        train_dataset=data.train,
        data_collator=data.collate,
        callbacks=[Watch(progress)],
    )
    rows = run_trainer(trainer, folder)
    student.eval()
    return rows
