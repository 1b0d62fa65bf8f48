"""The super-network trainer: transformers' Trainer with a strategy, so that users keep arguments, callbacks, mixed precision, resume and
multi-GPU launch."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from secateur.errors import ConfigurationError, EvaluationFailure, StudyError
from secateur.rng import generator
from secateur.supernet import Supernet
from secateur.training.distillation import distillation_loss
from secateur.training.settings import TrainingSettings
from secateur.training.strategies import Strategy


def training_arguments(settings: TrainingSettings, folder: Path, examples: int, device: str) -> TrainingArguments:
    """Trainer's arguments for these settings."""
    steps = max(1, math.ceil(math.ceil(examples / settings.batch_size) * settings.epochs))
    return TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        per_device_train_batch_size=settings.batch_size,
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        train_sampling_strategy="group_by_length" if settings.group_by_length else "random",
        gradient_checkpointing=settings.gradient_checkpointing,
        bf16=settings.mixed_precision == "bf16",
        fp16=settings.mixed_precision == "fp16",
        seed=settings.seed,
        data_seed=settings.seed,
        save_strategy="steps" if settings.checkpoints else "no",
        save_steps=max(1, math.ceil(steps / max(settings.checkpoints, 1))),
        save_total_limit=1,
        logging_strategy="steps",
        logging_steps=max(1, steps // 100),
        logging_nan_inf_filter=False,
        report_to=[],
        disable_tqdm=True,
        use_cpu=device == "cpu",
        dataloader_pin_memory=device != "cpu",
        ddp_find_unused_parameters=True,  # a sub-network leaves parameters without gradients
        remove_unused_columns=False,
    )


class Watch(TrainerCallback):
    """Reports each step, and stops a run whose loss is no longer a number."""

    def __init__(self, progress: Callable[[int, int], None] | None = None) -> None:
        self.progress = progress

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.progress is not None:
            self.progress(state.global_step, state.max_steps)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
        if not math.isfinite((logs or {}).get("loss", 0.0)):
            raise EvaluationFailure(
                f"training diverged at step {state.global_step}: the loss is no longer a number. Lower the learning rate."
            )


class SupernetTrainer(Trainer):
    """Trainer whose step runs the sub-networks that a strategy draws. Gradients of a step's passes add up, as in the sandwich rule."""

    def __init__(
        self,
        supernet: Supernet,
        strategy: Strategy,
        *,
        settings: TrainingSettings,
        regression: bool = False,
        language_modelling: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(model=supernet.model, **kwargs)
        if self.args.n_gpu > 1:
            raise ConfigurationError(
                f"{self.args.n_gpu} GPUs are visible without a launcher. Start with `torchrun`, or set CUDA_VISIBLE_DEVICES to one."
            )
        self.supernet = supernet
        self.strategy = strategy
        self.settings = settings
        self.regression = regression
        self.model_accepts_loss_kwargs = language_modelling  # only causal heads divide by the number of tokens

    def training_step(self, model: Any, inputs: dict[str, Any], num_items_in_batch: Any = None) -> torch.Tensor:
        model.train()
        inputs = self._prepare_inputs(inputs)
        step, steps = self.state.global_step, self.state.max_steps
        # the same draws on every process: their gradients are averaged
        draws = self.strategy.draws(step, steps, generator(self.settings.seed, "train", step))
        shared = num_items_in_batch is not None and self.model_accepts_loss_kwargs
        scale = 1.0 if shared else 1.0 / self.current_gradient_accumulation_steps
        teacher: torch.Tensor | None = None
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
                        loss = loss + self.settings.distillation_weight * distillation_loss(
                            outputs["logits"],
                            teacher,
                            temperature=self.settings.temperature,
                            regression=self.regression,
                            squared_temperature=self.settings.squared_temperature,
                            labels=inputs.get("labels"),
                        )
                self.accelerator.backward(loss * scale)
            if draw.plan is None:
                teacher = outputs["logits"].detach()
            total += loss.detach() * scale / len(draws)
        return total


def resumable(folder: Path) -> str | None:
    """The last checkpoint in a training folder, or None. Raises StudyError where there is one that cannot be read."""
    if not folder.is_dir():
        return None
    last = get_last_checkpoint(str(folder))
    if last is not None and not (Path(last) / "trainer_state.json").is_file():
        raise StudyError(
            f"the checkpoint `{last}` is damaged: it has no trainer_state.json. Move it away to start this stage again."
        )
    return last


def run_trainer(trainer: Trainer, folder: Path) -> list[dict[str, float]]:
    """Train, from the last checkpoint where there is one. Returns the log rows (step, loss, learning_rate, …)."""
    last = resumable(folder)
    try:
        trainer.train(resume_from_checkpoint=last)
    except (RuntimeError, ValueError, OSError, KeyError) as error:
        if last is not None and ("checkpoint" in str(error).lower() or "safetensor" in str(error).lower()):
            raise StudyError(
                f"the checkpoint `{last}` cannot be read: {error}. Move it away to start this stage again."
            ) from error
        raise
    return [row for row in trainer.state.log_history if "loss" in row]


def train_supernet(
    supernet: Supernet,
    strategy: Strategy,
    data: Any,
    settings: TrainingSettings,
    folder: Path,
    *,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, float]]:
    """Fine-tune the super-network on `data` (a TaskData); its training checkpoints go to `folder`. Returns the log rows."""
    trainer = SupernetTrainer(
        supernet,
        strategy,
        settings=settings,
        regression=data.task.kind == "regression",
        language_modelling=data.task.kind == "language_modelling",
        args=training_arguments(settings, folder, len(data.train), device),
        train_dataset=data.train,
        data_collator=data.collate,
        callbacks=[Watch(progress)],
    )
    rows = run_trainer(trainer, folder)
    supernet.model.zero_grad(set_to_none=True)
    return rows
