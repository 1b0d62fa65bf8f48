"""What every training stage shares: transformers' Trainer, kept silent, reproducible and safe to kill."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from transformers.utils import logging

from secateur.errors import ConfigurationError, MissingExtraError, StudyError, disk_fault, disk_is_full
from secateur.training.checkpoints import UNFINISHED, diverged, loading, refuse_diverged, refuse_other_processes, resumable
from secateur.training.distillation import distillation_loss
from secateur.training.logs import NO_LOGS, Logs
from secateur.training.random_state import preserved_random_state
from secateur.training.sampling import EpochSampler
from secateur.training.settings import ALONE, OPTIMIZERS, SCHEDULES, TrainingSettings
from secateur.training.teacher import collating


def processes() -> int:
    """How many processes train together, each on batches of its own: as many as a launcher has started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def _optimizer(name: str) -> dict[str, Any]:
    """The argument that names the optimiser. Raises MissingExtraError where its library is not installed."""
    known, _ = OPTIMIZERS[name]
    if known == "adamw_bnb_8bit" and find_spec("bitsandbytes") is None:
        raise MissingExtraError("bitsandbytes", "low-memory")
    return {} if known is None else {"optim": known}


def training_arguments(
    settings: TrainingSettings, folder: Path, examples: int, device: str, logs: Logs = NO_LOGS
) -> TrainingArguments:
    """Trainer's arguments for these settings; `examples` is the size of the training set."""
    steps = settings.total_steps(math.ceil(examples / (settings.batch_size * processes())))
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        max_steps=-1 if settings.steps is None else settings.steps,
        lr_scheduler_type=SCHEDULES[settings.schedule],
        learning_rate=settings.learning_rate,
        per_device_train_batch_size=settings.batch_size,
        warmup_steps=settings.learning_rate_warmup,
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
        disable_tqdm=True,
        use_cpu=device == "cpu",
        dataloader_pin_memory=device != "cpu",
        ddp_find_unused_parameters=True,  # a sub-network leaves parameters without gradients
        remove_unused_columns=False,
        **_optimizer(settings.optimizer),
        **logs.arguments(),
    )
    if arguments.n_gpu > 1 and os.environ.get(ALONE):
        arguments._n_gpu = 1
    return arguments


#: Told of each step: steps done, steps in all, and the loss last logged where there is one.
Told = Callable[[int, int, float | None], None]


class Watch(TrainerCallback):
    """Reports each step, and stops a run whose loss is no longer a number."""

    def __init__(self, progress: Told | None = None) -> None:
        self.progress = progress
        self.loss: float | None = None

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.progress is not None:
            self.progress(state.global_step, state.max_steps, self.loss)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
        self.loss = (logs or {}).get("loss", self.loss)
        if self.loss is not None and not math.isfinite(self.loss):
            raise diverged(state.global_step)


def task_arguments(
    data: Any,
    settings: TrainingSettings,
    folder: Path,
    device: str,
    progress: Told | None,
    logs: Logs,
    examples: Any | None = None,
) -> dict[str, Any]:
    """What a StageTrainer needs to train on `data` (a TaskData), beside the model. `examples` take the place of its own."""
    examples = data.train if examples is None else examples
    return {
        "settings": settings,
        "regression": data.task.kind == "regression",
        "language_modelling": data.task.kind == "language_modelling",
        "args": training_arguments(settings, folder, len(examples), device, logs),
        "train_dataset": examples,
        "data_collator": collating(data.collate),
        "callbacks": [Watch(progress)],
    }


class StageTrainer(Trainer):
    """Trainer that prints nothing, orders its examples by (seed, epoch), writes whole checkpoints only, and can distil."""

    def __init__(
        self, *, settings: TrainingSettings, regression: bool = False, language_modelling: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if self.args.n_gpu > 1:
            raise ConfigurationError(
                f"{self.args.n_gpu} GPUs are visible without a launcher. "
                f"Use them all: torchrun --nproc-per-node {self.args.n_gpu} -m secateur prune …, "
                "or set CUDA_VISIBLE_DEVICES to one of them."
            )
        model: Any = self.model
        if settings.gradient_checkpointing and not model.supports_gradient_checkpointing:
            raise ConfigurationError(
                f"`gradient_checkpointing` cannot be set for this model: transformers' `{type(model).__name__}` cannot "
                "recompute its activations. Use a smaller batch instead."
            )
        self.settings = settings
        self.as_authors = settings.distillation == "authors"
        self.regression = regression
        self.model_accepts_loss_kwargs = language_modelling  # only causal heads divide by the number of tokens
        self._loss_shifts_labels = language_modelling  # Trainer overlooks GPT-2's, and would count a token too many a row
        self._staging: str | None = None
        self.remove_callback(PrinterCallback)
        self.remove_callback(ProgressCallback)

    def distilled(
        self, loss: torch.Tensor, student: torch.Tensor, teacher: torch.Tensor, labels: Any, num_items_in_batch: Any
    ) -> torch.Tensor:
        """A student's loss on its labels, with the weighted distance of its logits to its teacher's on the same scale.

        In the authors' code the distance is multiplied by T², and in a regression it takes the place of the labels. Theirs is
        the cross-entropy to the teacher's shares: the divergence and a constant, so the gradients are the same.
        """
        if not self.settings.distillation_weight:
            return loss
        shared = num_items_in_batch is not None and self.model_accepts_loss_kwargs
        term = distillation_loss(
            student,
            teacher,
            temperature=self.settings.temperature,
            regression=self.regression,
            squared_temperature=self.settings.squared_temperature or self.as_authors,
            labels=labels,
            items=num_items_in_batch if shared else None,
        )
        if shared and self.args.average_tokens_across_devices:  # the items are those of all processes, whose mean is taken
            term = term * self.accelerator.num_processes
        term = self.settings.distillation_weight * term
        return term if self.regression and self.as_authors else self.settings.label_weight * loss + term

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        data: Any = self.train_dataset if train_dataset is None else train_dataset
        strategy = str(getattr(self.args.train_sampling_strategy, "value", self.args.train_sampling_strategy))
        grouped = strategy == "group_by_length"
        lengths = getattr(data, "lengths", None)
        if strategy not in ("random", "group_by_length") or (grouped and lengths is None):
            return super()._get_train_sampler(train_dataset)
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        batch = self.args.train_batch_size * self.args.gradient_accumulation_steps
        return EpochSampler(len(data), batch, seed, lengths if grouped else None)

    # A checkpoint that is resumed: whatever its files hold, they are loaded as weights and numbers only, or refused.

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        with loading(resume_from_checkpoint):
            super()._load_from_checkpoint(resume_from_checkpoint, model)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with loading(checkpoint):
            super()._load_optimizer_and_scheduler(checkpoint)

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with loading(checkpoint):
            super()._load_rng_state(checkpoint)

    def _load_callback_state(self) -> None:
        with loading(self.args.output_dir):
            super()._load_callback_state()

    def _get_output_dir(self, trial: Any) -> str:
        return self._staging or str(super()._get_output_dir(trial))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write aside, then move into place: what is named a checkpoint is whole, whenever the process is killed."""
        refuse_diverged(self.model, self.state.global_step)
        folder = Path(super()._get_output_dir(trial))
        staging = folder / UNFINISHED
        if self.args.should_save:
            shutil.rmtree(staging, ignore_errors=True)
        self.accelerator.wait_for_everyone()
        self._staging = str(staging)
        try:
            super()._save_checkpoint(model, trial)
        except Exception as error:
            full = disk_is_full(error) or (folder.is_dir() and shutil.disk_usage(folder).free < 1 << 20)
            reason, then = ("the disk is full", "Free some space") if full else (disk_fault(error), "See to the disk")
            if reason is None:
                raise
            shutil.rmtree(staging, ignore_errors=True)
            raise StudyError(f"{reason}: no checkpoint could be written to `{folder}`. {then} and resume.") from error
        finally:
            self._staging = None
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            name = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
            older = [path for path in folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*") if path.name != name]
            os.replace(staging / name, folder / name)
            staging.rmdir()
            for path in older:
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def lent(model: Any) -> Iterator[None]:
    """A model in a trainer's hands: mode, caching and gradient checkpointing are as before afterwards, gradients empty."""
    training = model.training
    caching = getattr(model.config, "use_cache", None)  # Trainer turns it off, and it would be saved so
    checkpointing = model.is_gradient_checkpointing
    try:
        yield
    finally:
        model.zero_grad(set_to_none=True)
        model.train(training)
        if caching is not None:
            model.config.use_cache = caching
        if model.is_gradient_checkpointing and not checkpointing:
            model.gradient_checkpointing_disable()


@contextlib.contextmanager
def without_bars() -> Iterator[None]:
    """Within the context transformers draws no progress bars; a checkpoint's would break into the caller's own."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def run_stage(make: Callable[[], StageTrainer], model: Any, folder: Path, logs: Logs = NO_LOGS) -> list[dict[str, float]]:
    """Make a trainer of `model` and train, from the last checkpoint in `folder` where there is one.

    Returns the log rows (step, loss, learning_rate, …). Raises StudyError for a damaged checkpoint, EvaluationFailure where
    training diverges.
    """
    last = resumable(folder)
    if last is not None:
        refuse_other_processes(Path(last), processes())
    with preserved_random_state(), without_bars(), lent(model), logs.open():
        trainer = make()
        logs.place(trainer.callback_handler.callbacks)
        result = trainer.train(resume_from_checkpoint=last)
        if not math.isfinite(result.training_loss):  # also what came after the last log row
            raise diverged(result.global_step)
        refuse_diverged(model, result.global_step)
    return [row for row in trainer.state.log_history if "loss" in row]
