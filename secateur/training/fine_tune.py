"""Fine-tune one network, by itself or with a teacher; to the end, or to a point from which it can go on later."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model
from transformers import TrainerCallback

from secateur.tasks import Examples, TaskData
from secateur.training.checkpoints import loading, logged, resumable
from secateur.training.logs import NO_LOGS, Logs
from secateur.training.lora import low_rank
from secateur.training.settings import TrainingSettings
from secateur.training.stage_trainer import StageTrainer, Told, processes, run_stage, task_arguments
from secateur.training.teacher import TOLD
from secateur.writing import discard

#: Told which epochs are done.
Look = Callable[[Sequence[float]], None]


class FineTuneTrainer(StageTrainer):
    """Trainer whose loss adds the distance to a frozen teacher's outputs: those that the examples hold, else those it gives."""

    def __init__(self, teacher: Any | None, *, settings: TrainingSettings, **kwargs: Any) -> None:
        super().__init__(settings=settings, **kwargs)
        self.teacher = teacher

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        inputs = dict(inputs)
        logits = inputs.pop(TOLD, None)
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch)
        if logits is None and self.teacher is not None and self.settings.distillation_weight:  # else nobody need ask it
            with torch.no_grad():
                logits = self.teacher(**{name: value for name, value in inputs.items() if name != "labels"})["logits"]
        if logits is not None:
            loss = self.distilled(loss, outputs["logits"], logits, inputs.get("labels"), num_items_in_batch)
        return (loss, outputs) if return_outputs else loss


class Pause(TrainerCallback):
    """Stops a training at a step, with a checkpoint to go on from."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step >= self.step and state.global_step < state.max_steps:
            control.should_save = control.should_training_stop = True


class Looks(TrainerCallback):
    """Calls `look` with the epochs that a step ends, the network in eval mode: step → epochs."""

    def __init__(self, student: Any, epochs: Mapping[int, Sequence[float]], look: Look) -> None:
        self.student, self.epochs, self.look = student, epochs, look

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if due := self.epochs.get(state.global_step):
            self.student.eval()  # Trainer sets it to train again before each step
            self.look(due)


def fine_tune(
    student: Any,
    data: TaskData,
    settings: TrainingSettings,
    folder: Path,
    *,
    teacher: Any | None = None,
    examples: Examples | None = None,
    until: float | None = None,
    device: str = "cpu",
    progress: Told | None = None,
    logs: Logs = NO_LOGS,
    looks: Sequence[float] = (),
    look: Look = lambda _epochs: None,
) -> list[dict[str, float]]:
    """Train `student` in place on the training examples of `data`, and leave it in eval mode. Returns the log rows.

    It goes on from the folder's last checkpoint. `until`: pause after so many of the settings' epochs; what goes on from there
    later is the training that would never have paused. `examples` are the training set with what a teacher said of each; a
    `teacher` on the same device is asked at each step instead, in eval mode, and left as it was. Where the settings have a
    `lora_rank`, low-rank additions are trained, and merged in the end. After so many epochs as `looks` say, `look` is called
    with them; it must leave the network as it is. Where a checkpoint is beyond one of them, the training begins anew, and ends
    the same.
    """
    given = task_arguments(data, settings, folder, device, progress, logs, examples)
    steps = math.ceil(len(given["train_dataset"]) / (settings.batch_size * processes()))
    stop = settings.total_steps(steps) if until is None else min(settings.total_steps(steps), math.ceil(until * steps))
    due: dict[int, list[float]] = {}
    for epochs in looks:
        due.setdefault(math.ceil(epochs * steps), []).append(epochs)
    last = resumable(folder)
    done = 0 if last is None else int(last.rpartition("-")[2])
    if last is not None and due and min(due) <= done:
        discard(folder)
        last = None
    if last is not None and done >= stop:  # it was there already when its process ended
        with loading(last), low_rank(student, settings.lora_rank, settings.seed):
            load_model(student, Path(last) / "model.safetensors", device=device)
        student.eval()
        return logged(last)
    given["callbacks"] += [Looks(student, due, look), Pause(stop)]
    training = None if teacher is None else teacher.training
    if teacher is not None:
        teacher.eval()
    try:
        with low_rank(student, settings.lora_rank, settings.seed):
            rows = run_stage(lambda: FineTuneTrainer(teacher, model=student, **given), student, folder, logs)
    finally:
        if teacher is not None:
            teacher.train(training)
    student.eval()
    return rows
