"""Polishing: fine-tune one extracted sub-network, with the super-network as its teacher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from secateur.training.logs import NO_LOGS, Logs
from secateur.training.settings import TrainingSettings
from secateur.training.stage_trainer import StageTrainer, Told, run_stage, task_arguments


class PolishTrainer(StageTrainer):
    """Trainer whose loss adds the distance to a frozen teacher's outputs."""

    def __init__(self, teacher: Any, *, settings: TrainingSettings, **kwargs: Any) -> None:
        super().__init__(settings=settings, **kwargs)
        self.teacher = teacher

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        if self.settings.distillation_weight:  # else nobody need ask the teacher
            with torch.no_grad():
                told = self.teacher(**{name: value for name, value in inputs.items() if name != "labels"})
            loss = self.distilled(loss, outputs["logits"], told["logits"], inputs.get("labels"), num_items_in_batch)
        return (loss, outputs) if return_outputs else loss


def polish(
    student: Any,
    teacher: Any,
    data: Any,
    settings: TrainingSettings,
    folder: Path,
    *,
    device: str = "cpu",
    progress: Told | None = None,
    logs: Logs = NO_LOGS,
) -> list[dict[str, float]]:
    """Fine-tune `student` in place on `data` (a TaskData), and leave it in eval mode. Returns the log rows.

    Resumes from the folder's last checkpoint. The teacher, on the same device, is asked in eval mode and left as it was.
    """
    training = teacher.training
    teacher.eval()
    given = (data, settings, folder, device, progress, logs)
    try:
        rows = run_stage(lambda: PolishTrainer(teacher, model=student, **task_arguments(*given)), student, folder, logs)
    finally:
        teacher.train(training)
    student.eval()
    return rows
