"""The super-network trainer: transformers' Trainer with a strategy.

So users keep their arguments, callbacks, mixed precision, resume and multi-GPU launch.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import torch

from secateur.rng import generator
from secateur.supernet import Supernet
from secateur.training.logs import NO_LOGS, Logs
from secateur.training.settings import TrainingSettings
from secateur.training.stage_trainer import StageTrainer, Told, run_stage, task_arguments
from secateur.training.strategies import Strategy


class SupernetTrainer(StageTrainer):
    """Trainer whose step runs the sub-networks that a strategy draws. A step's gradients add up, as in the sandwich rule."""

    def __init__(self, supernet: Supernet, strategy: Strategy, *, settings: TrainingSettings, **kwargs: Any) -> None:
        super().__init__(settings=settings, model=supernet.model, **kwargs)
        self.supernet = supernet
        self.strategy = strategy

    def training_step(self, model: Any, inputs: dict[str, Any], num_items_in_batch: Any = None) -> torch.Tensor:
        """All passes of one step, each with its backward unless it only teaches. Returns the mean of the losses trained on."""
        model.train()
        inputs = self._prepare_inputs(inputs)
        step, steps = self.state.global_step, self.state.max_steps
        # the same draws on every process, and in every batch that is accumulated: their gradients are averaged
        draws = self.strategy.draws(step, steps, generator(self.settings.seed, "train", step))
        shared = num_items_in_batch is not None and self.model_accepts_loss_kwargs
        scale = 1.0 if shared else 1.0 / self.current_gradient_accumulation_steps
        teacher: torch.Tensor | None = None
        if self.as_authors and draws[0].teaches:
            teacher, draws = self._told(model, inputs), draws[1:]
        total = torch.zeros((), device=self.args.device)
        for i, draw in enumerate(draws):
            no_sync = getattr(model, "no_sync", contextlib.nullcontext)
            with no_sync() if i < len(draws) - 1 else contextlib.nullcontext():
                selected = self.supernet.select(draw.plan) if draw.plan is not None else contextlib.nullcontext()
                with selected, self.compute_loss_context_manager():
                    loss, outputs = self.compute_loss(
                        model, dict(inputs), return_outputs=True, num_items_in_batch=num_items_in_batch
                    )
                    if draw.distilled:
                        assert teacher is not None, "a strategy must draw the whole network before it distils from it"
                        loss = self.distilled(loss, outputs["logits"], teacher, inputs.get("labels"), num_items_in_batch)
                self.accelerator.backward(loss * scale)
            if draw.plan is None:
                teacher = outputs["logits"].detach()
            total += loss.detach() * scale / len(draws)
        return total

    def _told(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        """The whole network's logits, without a gradient."""
        with torch.no_grad(), self.compute_loss_context_manager():
            logits: torch.Tensor = model(**{name: value for name, value in inputs.items() if name != "labels"})["logits"]
        return logits


def train_supernet(
    supernet: Supernet,
    strategy: Strategy,
    data: Any,
    settings: TrainingSettings,
    folder: Path,
    *,
    device: str = "cpu",
    progress: Told | None = None,
    logs: Logs = NO_LOGS,
) -> list[dict[str, float]]:
    """Fine-tune the super-network on `data` (a TaskData); its training checkpoints go to `folder`. Returns the log rows.

    Resumes from the folder's last checkpoint. The model's mode and the global random state are as before afterwards.
    """
    given = (data, settings, folder, device, progress, logs)
    return run_stage(lambda: SupernetTrainer(supernet, strategy, **task_arguments(*given)), supernet.model, folder, logs)
