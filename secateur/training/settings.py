"""How a training run goes: its length, its steps, its distillation. No torch."""

from __future__ import annotations

from dataclasses import dataclass

from secateur.errors import ConfigurationError


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of one training run: warm-up, super-network training or polishing."""

    epochs: float = 5.0
    learning_rate: float = 5e-5
    batch_size: int = 32
    warmup: float = 0.06  # share of the steps in which the learning rate rises
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
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
        positive = ("epochs", "learning_rate", "batch_size", "temperature")
        out = [f"`{prefix}{n}` must be positive, got {getattr(self, n)}." for n in positive if not getattr(self, n) > 0]
        if self.distillation_weight < 0:
            out.append(f"`{prefix}distillation_weight` must not be negative, got {self.distillation_weight}.")
        if self.mixed_precision not in (None, "bf16", "fp16"):
            out.append(f"`{prefix}mixed_precision` must be bf16 or fp16, got `{self.mixed_precision}`.")
        return out

    def check(self) -> None:
        if faults := self.faults():
            raise ConfigurationError(faults)
