"""What CATE is trained with: as its text has it (Yan 2022, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass

from secateur.encodings.learned.settings import LearnerSettings
from secateur.settings import MOST_BATCH, option

#: The share of the range of costs that two of a pair may lie apart: 2,000,000 parameters in NAS-Bench-101, as published.
LIKE = 0.04


@dataclass(frozen=True, kw_only=True)
class CateSettings(LearnerSettings):
    """The settings of CATE."""

    batch: int = option(1024, "Pairs per step.", least=1, most=MOST_BATCH)
    held_out: float = option(0.05, "The share of the cells that is kept for testing.", above=0, below=1)
    weight_decay: float = option(0.01, "Of the optimiser, of all but normalisations.", least=0, most=1)
    width: int = option(64, "Numbers per node, and per embedding.", least=1, most=4096)
    layers: int = option(12, "Transformer layers that see one architecture.", least=1, most=64)
    cross_layers: int = option(24, "Transformer layers that see both of a pair.", least=1, most=64)
    heads: int = option(8, "Attention heads of a layer.", least=1, most=256)
    inner: int = option(64, "Units of a layer's feed-forward part.", least=1, most=65_536)
    delta: float | None = option(
        None, f"Costs of a pair differ by less than this; by default {LIKE:.0%} of the range of costs.", above=0, most=1e18
    )
    pairs: int = option(2, "Pairs that each architecture begins.", least=1, most=1000)
    corruption: float = option(0.2, "The share of operations that are masked.", above=0, below=1)
    dependencies: str = option(
        "indirect",
        "What a node attends to beside itself: all nodes that lead to it, or those with an edge to it.",
        known=("indirect", "direct"),
    )
    bidirectional: bool = option(False, "Encode each graph backwards, too; embeddings are twice as long.")

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        if self.width % self.heads:
            found.append(f"`width` must be a multiple of `heads`, got {self.width} and {self.heads}.")
        return found
