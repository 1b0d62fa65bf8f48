"""Language models from scratch: transformers' Trainer on a text, with a learning curve and recurrence between segments."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch.utils.data import SequentialSampler

from secateur.errors import ConfigurationError, EvaluationFailure, Stopped, StudyError
from secateur.tasks.metrics import perplexity
from secateur.tasks.segments import IGNORED, Streams, Windows, collate, scored
from secateur.tasks.text import Tokens
from secateur.training.checkpoints import damaged, diverged, loading, resumable
from secateur.training.logs import NO_LOGS, Logs
from secateur.training.settings import TrainingSettings
from secateur.training.stage_trainer import StageTrainer, Told, Watch, lent, run_stage, training_arguments, without_bars

#: What a checkpoint holds beside Trainer's own files: `mems`, the loss since the last point of the curve, seconds.
_CARRIED = "carried.safetensors"
#: On a GPU the loss is looked at every so many steps: each look waits for the device.
_LOOK = 25


@dataclass(frozen=True)
class CurvePoint:
    """One point of a learning curve. `train_loss` is the mean since the last point; losses in nats per token."""

    step: int
    train_loss: float
    validation_loss: float

    @property
    def perplexity(self) -> float:
        """exp(validation_loss)."""
        return perplexity(self.validation_loss, 1)

    def as_dict(self) -> dict[str, float]:
        return {**vars(self), "perplexity": self.perplexity}


@dataclass(frozen=True)
class TextScore:
    """`loss`: mean −log p in nats over `tokens` tokens, each told once."""

    loss: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """exp(loss)."""
        return perplexity(self.loss, 1)


@dataclass(frozen=True)
class TextResult:
    """What a training run gave. `seconds` are those of its training steps, evaluations left out, over all resumptions."""

    curve: tuple[CurvePoint, ...]
    steps: int
    seconds: float

    @property
    def loss(self) -> float:
        """The last validation loss."""
        return self.curve[-1].validation_loss

    @property
    def perplexity(self) -> float:
        return self.curve[-1].perplexity


def curve_steps(steps: int, evaluations: int | Sequence[float]) -> tuple[int, ...]:
    """The steps at which a curve has its points; the last step is always one.

    `evaluations`: how many, evenly spaced; or shares of the steps, each above 0 and at most 1.
    """
    if not isinstance(evaluations, int):
        wrong = [share for share in evaluations if not 0 < share <= 1]
        if wrong:
            raise ConfigurationError(f"`evaluations` must be shares of the steps, above 0 and at most 1, got {wrong[0]:g}.")
        wanted = [round(share * steps) for share in evaluations]
    elif evaluations < 1:
        raise ConfigurationError(f"`evaluations` must be at least 1, got {evaluations}.")
    else:
        wanted = [math.ceil(k * steps / evaluations) for k in range(1, evaluations + 1)]
    return tuple(sorted({min(max(step, 1), steps) for step in wanted} | {steps}))


def recurrent(model: Any) -> bool:
    """Whether the network carries hidden states from one segment to the next."""
    return bool(getattr(model.config, "recurrence", 0))


def evaluate_text(model: Any, tokens: Tokens, *, length: int, batch: int = 16) -> TextScore:
    """The mean loss on `tokens`, every token but the first told once, in windows of `length`; hidden states are carried on.

    A recurrent network reads the text as `batch` parts side by side, each beginning without `mems`. The network's mode is
    left as it was. Raises EvaluationFailure where the loss is no number, DataError where there is no token to tell.
    """
    where = next(model.parameters()).device
    training, mems = model.training, None
    carries = recurrent(model)
    total, count = torch.zeros((), dtype=torch.float64, device=where), 0
    model.eval()
    try:
        with torch.inference_mode():
            for ids, labels in scored(tokens, length, batch, in_order=carries):
                told = int((labels[:, 1:] != IGNORED).sum())
                if carries and mems is not None:
                    mems = [part[: len(ids)] for part in mems]
                inputs = torch.from_numpy(ids).long().to(where)
                targets = torch.from_numpy(labels).long().to(where)
                loss, mems = _loss(model, inputs, targets, mems, carries)
                total += loss.double() * told
                count += told
    finally:
        model.train(training)
    mean = float(total) / count
    if not math.isfinite(mean):
        raise EvaluationFailure("the loss on this text is not a number.")
    return TextScore(mean, count)


def _loss(model: Any, ids: torch.Tensor, labels: torch.Tensor, mems: Any, carries: bool) -> tuple[torch.Tensor, Any]:
    """The mean loss of a batch, and the `mems` that its next segment needs."""
    if not carries:
        return model(input_ids=ids, labels=labels, use_cache=False).loss, None
    # The next segment begins with this one's last token, so its state is not part of what came before. The network would
    # count it among the states that it keeps: it gives all of them here.
    outputs = model(input_ids=ids, labels=labels, mems=mems, use_cache=True)
    return outputs.loss, [part.detach()[:, :-1][:, -model.config.recurrence :] for part in outputs.mems]


class TextTrainer(StageTrainer):
    """Trainer of a language model on windows of one text."""

    def __init__(
        self,
        *,
        validation: Tokens,
        length: int,
        points: Sequence[int],
        until: int | None = None,
        progress: Told | None = None,
        **kwargs: Any,
    ) -> None:
        self.watch = Watch(progress)
        # one batch a step: the mean over it is the loss
        super().__init__(language_modelling=False, callbacks=[self.watch], **kwargs)
        self.validation, self.length, self.points = validation, length, frozenset(points)
        self.carries = recurrent(self.model)
        self.windows: Any = self.train_dataset
        self.mems: list[torch.Tensor] | None = None
        self.summed = torch.zeros((), dtype=torch.float64, device=self.args.device)
        self.summed_steps = 0
        self.seconds, self._since = 0.0, time.perf_counter()
        self.until, self.stop_asked = until, False

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return SequentialSampler(self.windows) if self.carries else super()._get_train_sampler(train_dataset)

    def floating_point_ops(self, inputs: Any) -> int:
        return 0  # Trainer would count the parameters anew in each step

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        if self.carries and self.state.global_step % self.windows.batches == 0:  # the text begins again
            self.mems = None
        loss, self.mems = _loss(model, inputs["input_ids"], inputs["labels"], self.mems, self.carries)
        return loss

    def training_step(self, model: Any, inputs: dict[str, Any], num_items_in_batch: Any = None) -> torch.Tensor:
        loss = super().training_step(model, inputs, num_items_in_batch)
        self.summed += loss
        self.summed_steps += 1
        if loss.device.type == "cpu" or self.state.global_step % _LOOK == 0:
            if not math.isfinite(float(loss)):
                raise diverged(self.state.global_step + 1)
            self.watch.loss = float(self.summed) / self.summed_steps
        return loss

    def _maybe_log_save_evaluate(self, *args: Any, **kwargs: Any) -> None:
        """After each step: a point of the curve where one is due, then what Trainer does (saving)."""
        step = self.state.global_step
        if step in self.points and (not self.state.log_history or self.state.log_history[-1]["step"] != step):
            self._point(step)
        if (self.stop_asked or step == self.until) and not self.control.should_training_stop:
            self.control.should_save = self.control.should_training_stop = True
        super()._maybe_log_save_evaluate(*args, **kwargs)

    def _point(self, step: int) -> None:
        train_loss = float(self.summed) / max(self.summed_steps, 1)
        if not math.isfinite(train_loss):
            raise diverged(step)
        self.seconds, now = self._elapsed(), time.perf_counter()
        try:
            score = evaluate_text(self.model, self.validation, length=self.length, batch=self.settings.batch_size)
        except EvaluationFailure:
            raise diverged(step) from None
        self._since = time.perf_counter()
        row = {"step": step, "train_loss": train_loss, "validation_loss": score.loss, "evaluation_seconds": self._since - now}
        self.state.log_history.append(row)
        told = {"loss": train_loss, "eval_loss": score.loss}
        self.callback_handler.on_log(self.args, self.state, self.control, told)  # type: ignore[no-untyped-call]
        self.summed.zero_()
        self.summed_steps = 0

    def _elapsed(self) -> float:
        return self.seconds + time.perf_counter() - self._since

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Trainer's own log rows are not kept: the history is the curve."""

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        super()._save_optimizer_and_scheduler(output_dir)
        carried = {f"memory.{i}": part.contiguous() for i, part in enumerate(self.mems or [])}
        numbers = torch.tensor([float(self.summed), self.summed_steps, self._elapsed()], dtype=torch.float64)
        save_file({"numbers": numbers, **carried}, Path(output_dir) / _CARRIED)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            self.load_carried(checkpoint)

    def load_carried(self, checkpoint: str) -> None:
        """What a checkpoint holds beside Trainer's own files."""
        file = Path(checkpoint) / _CARRIED
        if not file.is_file():
            raise damaged(checkpoint, f"it has no {_CARRIED}")
        with loading(checkpoint):
            carried = load_file(file, device=str(self.args.device))
            summed, steps, self.seconds = carried.pop("numbers").tolist()
            self.summed.fill_(summed)
            self.summed_steps, self._since = int(steps), time.perf_counter()
            self.mems = [carried[f"memory.{i}"] for i in range(len(carried))] or None


def train_text(
    model: Any,
    train_tokens: Tokens,
    validation_tokens: Tokens,
    settings: TrainingSettings,
    folder: Path,
    *,
    length: int,
    evaluations: int | Sequence[float] = 20,
    until: float | None = None,
    device: str = "cpu",
    progress: Told | None = None,
    logs: Logs = NO_LOGS,
) -> TextResult:
    """Train a causal language model in place, on windows of `length` tokens, and leave it in eval mode on the device.

    A recurrent network (Transformer-XL) reads the text in order, as `settings.batch_size` parts side by side; others read
    shuffled windows. The curve has a point at each of `curve_steps(steps, evaluations)`. Goes on from the last checkpoint in
    `folder`, exactly. `until`: pause at the first of these points after so much of the steps, a share. Ctrl-C ends the step,
    writes a checkpoint and raises Stopped. Raises EvaluationFailure where training diverges, DataError for too little text,
    ConfigurationError for wrong settings, StudyError where the folder's training is beyond the last step.
    """
    settings.check()
    data: Any = Streams(train_tokens, length, settings.batch_size) if recurrent(model) else Windows(train_tokens, length)
    steps = settings.total_steps(math.ceil(len(data) / settings.batch_size))
    points = curve_steps(steps, evaluations)
    pause = steps if until is None else next(point for point in points if point >= until * steps)
    model.to(device)
    made: list[TextTrainer] = []

    def make() -> TextTrainer:
        arguments = training_arguments(settings, folder, len(data), device, logs)
        arguments.set_logging(strategy="no", report_to=list(logs.to))
        arguments.disable_tqdm = True
        trainer = TextTrainer(
            model=model,
            settings=settings,
            validation=validation_tokens,
            length=length,
            points=points,
            until=pause,
            args=arguments,
            train_dataset=data,
            data_collator=collate,
            progress=progress,
        )
        made.append(trainer)
        return trainer

    last = resumable(folder)
    reached = 0 if last is None else _state(last)["global_step"]
    if reached > steps:
        raise StudyError(
            f"`{folder}` contains a training that is already beyond step {steps}. Give another folder or more steps."
        )
    if last is not None and (reached == steps or reached >= pause):
        with lent(model):
            found = _finished(make(), last, reached)
        model.eval()
        return found
    with _ctrl_c(lambda: made[0] if made else None):
        run_stage(make, model, folder, logs)
    trainer = made[0]
    if trainer.state.global_step < pause:
        raise Stopped(f"stopped after step {trainer.state.global_step} of {steps}; what was done is saved.")
    trainer.accelerator.unwrap_model(model, keep_fp32_wrapper=False)  # mixed precision is for training only
    model.eval()
    return _result(trainer.state.log_history, trainer.state.global_step, trainer._elapsed())


def _finished(trainer: TextTrainer, checkpoint: str, step: int) -> TextResult:
    """The result of a training whose last checkpoint is its end."""
    model: Any = trainer.model
    with without_bars():
        trainer._load_from_checkpoint(checkpoint, model)
    trainer.load_carried(checkpoint)
    with loading(checkpoint):
        return _result(_state(checkpoint)["log_history"], step, trainer.seconds)


def _state(checkpoint: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(checkpoint) / "trainer_state.json").read_text(encoding="utf-8"))
    return found


def _result(rows: list[dict[str, Any]], steps: int, seconds: float) -> TextResult:
    curve = tuple(CurvePoint(int(row["step"]), row["train_loss"], row["validation_loss"]) for row in rows)
    return TextResult(curve, steps, seconds)


@contextlib.contextmanager
def _ctrl_c(running: Callable[[], TextTrainer | None]) -> Iterator[None]:
    """The first Ctrl-C lets the step end and be saved; the second stops at once. Signals reach the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: Any) -> None:
        trainer = running()
        if trainer is None or trainer.stop_asked:
            raise KeyboardInterrupt
        trainer.stop_asked = True

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
