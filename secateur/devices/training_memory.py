"""How much memory a training step needs at its peak, found without computing anything: on the meta device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from torch import nn

from secateur.anatomy.inputs import is_multiple_choice, no_cache
from secateur.devices.inputs import dummy_inputs
from secateur.devices.memory import ATTENTION, AttentionAsOnCpu, LiveStorages, weight_bytes
from secateur.supernet import Supernet
from secateur.training.distillation import distillation_loss
from secateur.training.lora import low_rank
from secateur.training.settings import OPTIMIZERS, TrainingSettings
from secateur.training.strategies import Draw

#: Temporaries of a parameter's size that Adafactor makes of the parameter it is at.
_TEMPORARIES = 3


@dataclass(frozen=True)
class StepMemory:
    """Bytes at the peak: the weights, gradients and the optimiser's states, and what is alive beside them (`activations`)."""

    weights: int
    gradients: int = 0
    states: int = 0
    activations: int = 0

    @property
    def peak(self) -> int:
        return self.weights + self.gradients + self.states + self.activations

    def beside(self, weights: int) -> StepMemory:
        """The same, with so many bytes of other networks' weights in memory."""
        return replace(self, weights=self.weights + weights)


class _Values(LiveStorages):
    """What a network asks of values that are not there, it is told no: masks are made as for texts that are padded."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default and args[0].is_meta:
            return False if args[0].dtype == torch.bool else 0
        return super().__torch_dispatch__(func, types, args, kwargs)


def step_memory(
    supernet: Supernet, draws: Sequence[Draw], length: int, kind: str, settings: TrainingSettings, *, labels: int = 1
) -> StepMemory:
    """The peak of training steps that pass a batch of the settings through the network of each draw, backward after each. Those
    that are distilled have a teacher's logits beside theirs. The supernet's model lies on the meta device. `labels` is the
    number of classes, 1 for a regression.

    The figure is a CPU's: attention on a GPU keeps less. In mixed precision it is an estimate: activations have half the bytes,
    and matrices have a copy of half the bytes.
    """
    model: Any = supernet.model
    weights = weight_bytes(model)
    with low_rank(model, settings.lora_rank, 0), _mixed(model, settings.mixed_precision is not None) as wide:
        weights += 4 * sum(p.numel() for name, p in model.named_parameters() if ".lora_" in name)
        trained = [p for p in model.parameters() if p.requires_grad]
        inputs = labelled_inputs(model, settings.batch_size, length, kind, labels)
        peak = _followed(supernet, draws, inputs, settings)
        own = sum(p.nbytes for p in trained)
        gradients = sum(p.numel() for p in trained) * 4
        activations = peak - own
        copies = sum(p.nbytes for p in model.parameters() if p.dim() > 1) if wide else 0
        if settings.optimizer == "adafactor":
            activations = max(activations, _TEMPORARIES * 4 * max(p.numel() for p in trained))
        return StepMemory(weights, gradients, _states(trained, settings.optimizer), activations + copies)


def pass_memory(supernet: Supernet, batch: int, length: int, kind: str) -> StepMemory:
    """The peak of a forward pass of the whole network, which lies on the meta device."""
    model: Any = supernet.model
    inputs = dummy_inputs(model, batch, length, kind)
    storages = _Values(chain(model.parameters(), model.buffers(), inputs.values()))
    model.eval()
    with torch.no_grad(), storages, AttentionAsOnCpu():
        model(**inputs, **no_cache(model))
    return StepMemory(weight_bytes(model), activations=storages.peak)


def _followed(supernet: Supernet, draws: Sequence[Draw], inputs: Mapping[str, torch.Tensor], settings: TrainingSettings) -> int:
    """Bytes of gradients and activations at the peak."""
    model: Any = supernet.model
    storages = _Values(chain(model.parameters(), model.buffers(), inputs.values()))
    model.train()
    before, teacher = model.is_gradient_checkpointing, None
    if settings.gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    try:
        with storages, _attention():
            for draw in draws:
                with nullcontext() if draw.plan is None else supernet.select(draw.plan):
                    outputs = model(**inputs, **no_cache(model))
                loss, logits = outputs.loss, outputs.logits
                del outputs
                if draw.plan is None or teacher is None:
                    teacher = logits.detach()
                if draw.distilled:
                    loss = loss + distillation_loss(logits, teacher, temperature=settings.temperature)
                loss.backward()
                del loss, logits
    finally:
        model.zero_grad(set_to_none=True)
        model.eval()
        if settings.gradient_checkpointing and not before:
            model.gradient_checkpointing_disable()
    return storages.peak


@contextmanager
def _attention() -> Iterator[None]:
    """Within the context attention on the meta device is that of a CPU, also where it is computed again on the way back: that
    happens in a thread of its own, which knows nothing of modes."""
    nn.functional.scaled_dot_product_attention = AttentionAsOnCpu().attend
    try:
        yield
    finally:
        nn.functional.scaled_dot_product_attention = ATTENTION


@contextmanager
def _mixed(model: nn.Module, mixed: bool) -> Iterator[bool]:
    """Within the context the model has half the bytes, if so asked."""
    if not mixed:
        yield False
        return
    model.to(torch.bfloat16)
    try:
        yield True
    finally:
        model.to(torch.float32)


def labelled_inputs(model: Any, batch: int, length: int, kind: str, labels: int) -> dict[str, torch.Tensor]:
    """A batch with labels on the model's device."""
    found: dict[str, torch.Tensor] = dummy_inputs(model, batch, length, kind)
    device = next(iter(found.values())).device
    if kind == "language_modelling":
        found["labels"] = found["input_ids"]
    elif labels == 1 and not is_multiple_choice(model):
        found["labels"] = torch.zeros(batch, device=device, dtype=next(model.parameters()).dtype)
    else:
        found["labels"] = torch.zeros(batch, dtype=torch.long, device=device)
    return found


def _states(trained: Iterable[nn.Parameter], optimizer: str) -> int:
    """Bytes of an optimiser's states. Adafactor keeps a number for each row and column of a matrix, and one for each other."""
    if optimizer == "adafactor":
        shapes = [p.shape for p in trained]
        return 4 * sum(sum(s[:-2].numel() * n for n in s[-2:]) if len(s) > 1 else s.numel() for s in shapes)
    _, each = OPTIMIZERS[optimizer]
    return int(each * sum(p.numel() for p in trained))
