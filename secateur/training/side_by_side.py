"""Small language models from scratch, several side by side on one GPU.

A step of a small network takes the GPU less time than its launches take the processor. So each network's step is recorded once
and replayed, on a stream of its own: nothing but the GPU is waited for, and the steps of several networks overlap there. The
order of the examples, rates, decay and clipping are those of `train_text`, and so are the curves, but for rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.tasks.segments import IGNORED, Windows, scored
from secateur.tasks.text import Tokens
from secateur.training.checkpoints import diverged
from secateur.training.sampling import EpochSampler
from secateur.training.settings import SCHEDULES, TrainingSettings
from secateur.training.text_trainer import CurvePoint, TextResult, curve_steps, recurrent

#: Steps before one is recorded: libraries make themselves ready in the first, and the optimiser its moments.
_BEFORE = 3
#: Steps of a network that are begun in its turn. Streams overlap only where their steps are begun by turns: what is begun waits
#: in a queue of the driver's that is not endless.
_IN_TURN = 5


@dataclass(frozen=True)
class Asked:
    """A network to train, what with, and a name to tell its result by."""

    name: Any
    model: Any
    settings: TrainingSettings


@dataclass(frozen=True)
class Trained:
    """The network of this name in eval mode with its result, or why there is none. Its seconds were shared with others.

    `stream`: where it was trained, on a GPU, and where it can be used while others are at work.
    """

    name: Any
    model: Any
    result: TextResult | EvaluationFailure
    stream: torch.cuda.Stream | None


def train_side_by_side(
    asked: Iterable[Asked],
    train_tokens: Tokens,
    validation_tokens: Tokens,
    *,
    length: int,
    evaluations: int | Sequence[float] = 20,
    device: str = "cuda",
    at_once: int = 4,
) -> Iterator[Trained]:
    """Train networks in place, `at_once` of them at a time, and tell each when it is done; they are taken when there is room.

    On a CPU one step follows the other. Nothing is kept on disk: a network that was stopped is trained anew. One that diverges
    is told as such, at its end: nothing is waited for on the way. Raises ConfigurationError for settings that only `train_text`
    serves.
    """
    waiting = iter(asked)
    windows = Windows(train_tokens, length)
    examples = torch.from_numpy(np.stack([windows[place] for place in range(len(windows))]).astype(np.int64)).to(device)
    validation = _Validation(validation_tokens, length, device)
    running: list[_Training] = []
    streams: list[torch.cuda.Stream] = []  # that are free: what a network held on its stream serves the next one there
    try:
        while True:
            # Each is begun some time after the one before: those that end together would leave the GPU nothing to do.
            while len(running) < at_once and (not running or running[-1].share >= 1 / at_once):
                if (one := next(waiting, None)) is None:
                    break
                stream = streams.pop() if streams else torch.cuda.Stream(device) if examples.is_cuda else None
                running.append(_Training(one, examples, validation, evaluations, stream))
            if not running:
                return
            for training in list(running):
                if (done := training.advance()) is not None:
                    running.remove(training)
                    yield done
                    streams += [] if done.stream is None else [done.stream]
    finally:
        for training in running:
            training.choose(True)


class _Training:
    """One network, on a stream of its own."""

    def __init__(
        self,
        asked: Asked,
        examples: Tensor,
        validation: _Validation,
        evaluations: int | Sequence[float],
        stream: torch.cuda.Stream | None,
    ) -> None:
        self.name, self.model, self.s = asked.name, asked.model, asked.settings.check()
        _serves(self.model, self.s)
        self.examples, self.validation = examples, validation
        self.device = examples.device
        self.stream = stream
        batches = math.ceil(len(examples) / self.s.batch_size)
        self.steps = self.s.total_steps(batches)
        self.points = list(curve_steps(self.steps, evaluations))
        self.curve: list[Tensor] = []
        self.taken = 0
        self.began = time.perf_counter()
        with self._on_stream():
            self.model.to(self.device).train()
            self.choose(False)
            order, self.sizes = _order(len(examples), self.s, self.steps)
            self.order = torch.from_numpy(order).to(self.device)
            self.optimiser, self.rates = _optimiser(self.model, self.s, self.steps, self.device)
            self.step = torch.zeros(1, dtype=torch.int64, device=self.device)
            self.summed = torch.zeros((), dtype=torch.float64, device=self.device)
            self.graph: torch.cuda.CUDAGraph | None = None

    def choose(self, choose: bool) -> None:
        """Whether the network's loss may have shapes that depend on the words; that of a recorded step may not."""
        head: Any = getattr(self.model, "lm_head", None)
        if hasattr(head, "chooses"):
            head.chooses = choose

    @property
    def share(self) -> float:
        """The share of its steps that were begun."""
        return self.taken / self.steps

    @contextmanager
    def _on_stream(self) -> Iterator[None]:
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.default_stream(self.device))  # where the examples were made
        with torch.cuda.stream(self.stream):
            yield

    def advance(self) -> Trained | None:
        """Begin a few steps, and have them end where a point of the curve is due."""
        with self._on_stream():
            due = self.points[len(self.curve)]
            self._take(min(self.taken + _IN_TURN, due))
            return self._point() if self.taken == due else None

    def _point(self) -> Trained | None:
        """Begin to evaluate. Nothing is waited for before the last step: others would have nothing to do meanwhile."""
        last = self.points[len(self.curve) - 1] if self.curve else 0
        self.curve.append(torch.stack([self.summed / (self.taken - last), self.validation.loss(self.model, self.s.batch_size)]))
        self.summed.zero_()
        return self._ended() if self.taken == self.steps else None

    def _ended(self) -> Trained:
        """Waits for all that was begun."""
        points = zip(self.points, torch.stack(self.curve).tolist(), strict=True)
        curve = tuple(CurvePoint(step, *losses) for step, losses in points)
        result: TextResult | EvaluationFailure = TextResult(curve, self.steps, time.perf_counter() - self.began)
        bad = [point.step for point in curve if not math.isfinite(point.train_loss + point.validation_loss)]
        if bad:
            result = diverged(bad[0])
        self.graph = None
        self.choose(True)
        self.optimiser.zero_grad(set_to_none=True)
        self.model.eval()
        return Trained(self.name, self.model, result, self.stream)

    def _take(self, until: int) -> None:
        """Have the steps up to this one taken; on a GPU, begun."""
        while self.taken < until:
            size = self.sizes[self.taken]
            if self.stream is None or self.taken < _BEFORE or size < self.order.shape[1]:  # the last batch of an epoch is short
                self.optimiser.zero_grad(set_to_none=True)
                self._stepped(size)
            else:
                self.graph = self.graph or self._recorded(size)
                self.graph.replay()
            self.taken += 1

    def _recorded(self, size: int) -> torch.cuda.CUDAGraph:
        self.optimiser.zero_grad(set_to_none=True)  # so that a replay writes gradients, and does not add to them
        _make_room(self.device)
        graph = torch.cuda.CUDAGraph()
        # (torch's own context would have all other networks end their steps first)
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            self._stepped(size)
        except BaseException:
            with suppress(RuntimeError):  # which says no more than that something went wrong
                graph.capture_end()
            raise
        graph.capture_end()
        return graph

    def _stepped(self, size: int) -> None:
        """One step. All that changes from step to step is on the device, so that a recorded one needs to be told nothing."""
        ids = self.examples[self.order.index_select(0, self.step)[0, :size]]
        for group in self.optimiser.param_groups:
            group["lr"].copy_(self.rates.index_select(0, self.step)[0])
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.s.mixed_precision == "bf16", cache_enabled=False):
            loss = self.model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()  # type: ignore[no-untyped-call]
        if self.s.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.s.max_grad_norm)
        self.optimiser.step()
        self.summed += loss.detach()
        self.step += 1


class _Validation:
    """The validation text on the device, for all networks: told as by `evaluate_text`, and not waited for."""

    def __init__(self, tokens: Tokens, length: int, device: str) -> None:
        whole = next(scored(tokens, length, len(tokens), in_order=False))
        self.ids, self.labels = (torch.from_numpy(part).long().to(device) for part in whole)
        self.count = (self.labels[:, 1:] != IGNORED).sum()

    @torch.inference_mode()
    def loss(self, model: Any, batch: int) -> Tensor:
        model.eval()
        total = torch.zeros((), dtype=torch.float64, device=self.ids.device)
        for ids, labels in zip(self.ids.split(batch), self.labels.split(batch), strict=True):
            told = (labels[:, 1:] != IGNORED).sum()
            total += model(input_ids=ids, labels=labels, use_cache=False).loss.double() * told
        model.train()
        return total / self.count


def _make_room(device: torch.device) -> None:
    """Where memory is short, give back what is held and not used, as by recorded steps of earlier networks: while one is
    recorded nothing can be."""
    free, whole = torch.cuda.mem_get_info(device)
    if free < whole / 4:
        torch.cuda.empty_cache()


def _serves(model: Any, settings: TrainingSettings) -> None:
    """Raises ConfigurationError for what only `train_text` does."""
    if recurrent(model):
        raise ConfigurationError("networks that carry hidden states on are not trained side by side. Train them one by one.")
    if getattr(model.config, "dropout", 0):
        raise ConfigurationError("networks with dropout are not trained side by side: they would share what drops out.")
    unserved = [name for name in ("gradient_checkpointing", "group_by_length") if getattr(settings, name)]
    if settings.mixed_precision == "fp16":
        unserved.append("mixed_precision=fp16")
    if unserved:
        raise ConfigurationError(f"`{unserved[0]}` is not for networks trained side by side. Leave it out.")


def _order(examples: int, settings: TrainingSettings, steps: int) -> tuple[np.ndarray, list[int]]:
    """The places of the examples of every step (steps, batch), and how many a step has, as `train_text` reads them."""
    batch, sampler = settings.batch_size, EpochSampler(examples, settings.batch_size, settings.seed)
    order, epoch = np.zeros((steps, min(batch, examples)), dtype=np.int64), 0
    sizes: list[int] = []
    while len(sizes) < steps:
        sampler.set_epoch(epoch)
        places = np.fromiter(sampler, dtype=np.int64)
        for start in range(0, examples, batch)[: steps - len(sizes)]:
            part = places[start : start + batch]
            order[len(sizes), : len(part)] = part
            sizes.append(len(part))
        epoch += 1
    return order, sizes


def _optimiser(
    model: Any, settings: TrainingSettings, steps: int, device: torch.device
) -> tuple[torch.optim.Optimizer, Tensor]:
    """AdamW as Trainer makes it, and the learning rate of every step (steps,)."""
    from transformers import Trainer, get_scheduler

    decayed = set(Trainer.get_decay_parameter_names(None, model))  # type: ignore[arg-type]
    named = [(name, tensor) for name, tensor in model.named_parameters() if tensor.requires_grad]
    groups = [
        {"params": [tensor for name, tensor in named if name in decayed], "weight_decay": settings.weight_decay},
        {"params": [tensor for name, tensor in named if name not in decayed], "weight_decay": 0.0},
    ]
    scheduler: Any = get_scheduler(
        SCHEDULES[settings.schedule],
        torch.optim.SGD([torch.zeros(1)], lr=1.0),
        num_warmup_steps=math.ceil(steps * settings.learning_rate_warmup),
        num_training_steps=steps,
    )
    factors = [scheduler.lr_lambdas[0](step) for step in range(steps)]
    rates = torch.tensor(factors, dtype=torch.float64).mul(settings.learning_rate).float().to(device)
    for group in groups:
        group["lr"] = torch.zeros((), device=device)
    return torch.optim.AdamW(groups, fused=True, capturable=device.type == "cuda"), rates
