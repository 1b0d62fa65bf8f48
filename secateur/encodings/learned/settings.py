"""What every learner is trained with; each has its own defaults, and settings of its own beside these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from secateur.settings import MOST_BATCH, Settings, option


@dataclass(frozen=True, kw_only=True)
class LearnerSettings(Settings):
    """The settings that all learners have."""

    epochs: int = option(10, "How often each cell is seen.", least=1, most=10_000)
    batch: int = option(32, "Cells per step.", least=1, most=MOST_BATCH)
    learning_rate: float = option(1e-3, "Of the optimiser.", above=0, most=1)
    clip: float | None = option(None, "The longest gradient, by its norm; by default any.", above=0, most=10**6)
    held_out: float = option(0.1, "The share of the cells that is kept for testing.", above=0, below=1)

    def resolved(self) -> Self:
        """These settings with what any of them stands for."""
        return self
