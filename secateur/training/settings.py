"""How a training run goes: its length, its steps, its distillation. No torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from secateur.errors import ConfigurationError


def _number(value: Any, whole: bool = False) -> bool:
    return isinstance(value, int if whole else int | float) and not isinstance(value, bool) and math.isfinite(value)


#: Below this many steps a super-network wants the higher learning rate: recipes/prune-minilm has the measurements.
SHORT_RUN = 1_500


def usual_learning_rate(examples: int, batch_size: int, epochs: float) -> float:
    """A rule of thumb for super-networks: 1e-4 for a short run, 5e-5 for a long one."""
    return 1e-4 if math.ceil(examples / batch_size) * epochs < SHORT_RUN else 5e-5


#: How the learning rate goes on after the warm-up: falling to 0 in a line or along a cosine, or staying.
SCHEDULES = {"linear": "linear", "cosine": "cosine", "constant": "constant_with_warmup"}


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of one training run: warm-up, super-network training or polishing."""

    epochs: float = 5.0
    steps: int | None = None  # where given, a run has this many steps, whatever `epochs` says
    learning_rate: float = 5e-5
    batch_size: int = 32
    warmup: float = 0.06  # share of the steps in which the learning rate rises
    schedule: str = "linear"  # how it falls afterwards: one of SCHEDULES
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0  # 0: gradients are not clipped
    temperature: float = 10.0
    distillation_weight: float = 1.0
    squared_temperature: bool = False
    group_by_length: bool = True
    gradient_checkpointing: bool = False
    mixed_precision: str | None = None  # bf16 or fp16
    checkpoints: int = 4  # how many checkpoints a run writes to resume from; the last is kept
    seed: int = 0

    def faults(self, prefix: str = "") -> list[str]:
        """What is wrong with these settings, all at once."""
        values = vars(self)
        out: list[str] = []
        for name in ("epochs", "learning_rate", "temperature"):
            if not _number(values[name]) or values[name] <= 0:
                out.append(f"`{prefix}{name}` must be positive, got {values[name]}.")
        if not _number(self.batch_size, whole=True) or self.batch_size < 1:
            out.append(f"`{prefix}batch_size` must be a whole number of at least 1, got {self.batch_size}.")
        if self.steps is not None and (not _number(self.steps, whole=True) or self.steps < 1):
            out.append(f"`{prefix}steps` must be a whole number of at least 1, got {self.steps}.")
        if self.schedule not in SCHEDULES:
            out.append(f"`{prefix}schedule` must be one of {', '.join(SCHEDULES)}, got `{self.schedule}`.")
        for name in ("weight_decay", "max_grad_norm", "distillation_weight"):
            if not _number(values[name]) or values[name] < 0:
                out.append(f"`{prefix}{name}` must not be negative, got {values[name]}.")
        if not _number(self.warmup) or not 0 <= self.warmup < 1:
            out.append(f"`{prefix}warmup` is a share of the steps: at least 0 and below 1, got {self.warmup}.")
        if not _number(self.checkpoints, whole=True) or self.checkpoints < 0:
            out.append(f"`{prefix}checkpoints` must be a whole number of at least 0, got {self.checkpoints}.")
        if not _number(self.seed, whole=True) or not 0 <= self.seed < 2**32:
            out.append(f"`{prefix}seed` must be a whole number from 0 to 2³² − 1, got {self.seed}.")
        if self.mixed_precision not in (None, "bf16", "fp16"):
            out.append(f"`{prefix}mixed_precision` must be bf16 or fp16, got `{self.mixed_precision}`.")
        return out

    def total_steps(self, batches: int) -> int:
        """The steps of a run with `batches` steps in an epoch."""
        return self.steps if self.steps is not None else max(1, math.ceil(batches * self.epochs))

    def check(self) -> None:
        """Raise ConfigurationError with every fault."""
        if faults := self.faults():
            raise ConfigurationError(faults)
