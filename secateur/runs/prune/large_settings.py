"""Settings of `secateur prune` for models that hardly fit into memory."""

from __future__ import annotations

from dataclasses import dataclass

from secateur.runs.settings import SearchRunSettings
from secateur.settings import MOST_EXAMPLES, option, shared
from secateur.training.settings import TrainingSettings

_LARGE = "Large models"


@dataclass(frozen=True, kw_only=True)
class LargeModelSettings(SearchRunSettings):
    """What is saved of memory and time; the defaults save nothing."""

    optimizer: str = shared(TrainingSettings, "optimizer", panel=_LARGE)
    lora_rank: int = shared(
        TrainingSettings,
        "lora_rank",
        about="Rank of what is added to each matrix and trained in its place, in networks that are trained by themselves: the "
        "unpruned one, candidates and polished ones, not the super-network. 0: all weights are trained.",
        panel=_LARGE,
    )
    importance_examples: int = option(
        1024,
        "Training examples that the importance of heads and units is computed on.",
        panel=_LARGE,
        least=1,
        most=MOST_EXAMPLES,
    )
    gradient_checkpointing: bool = shared(
        TrainingSettings, "gradient_checkpointing", panel=_LARGE, flag="--gradient-checkpointing"
    )
    mixed_precision: str | None = shared(TrainingSettings, "mixed_precision", panel=_LARGE)
