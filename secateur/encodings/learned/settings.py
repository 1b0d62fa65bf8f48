"""What arch2vec is trained with: as its text has it, and every difference of the code its authors released as a switch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from secateur.settings import MOST_BATCH, Settings, option

PANEL = "arch2vec"
#: What the released code does where the text says something else, or nothing. It multiplies KL by 1 / (B · N) alone.
PUBLISHED: dict[str, Any] = {
    "narrow": False,
    "operations": "sigmoid",
    "log_deviation": True,
    "kl_weight": 1.0,
    "kl_rescaled": True,
    "settled": True,
    "pooling": "mean",
    "dropout": 0.3,
    "clip": 5.0,
    "shuffle": False,
}


@dataclass(frozen=True, kw_only=True)
class Arch2vecSettings(Settings):
    """The settings of arch2vec (Yan 2022, chapter 3)."""

    epochs: int = option(10, "How often each cell is seen.", least=1, most=10_000)
    batch: int = option(32, "Cells per step.", least=1, most=MOST_BATCH)
    learning_rate: float = option(1e-3, "Of Adam.", above=0, most=1, panel=PANEL)
    width: int = option(128, "Units of a graph layer.", least=1, most=4096, panel=PANEL)
    layers: int = option(4, "Graph layers of that width.", least=1, most=64, panel=PANEL)
    latent: int = option(16, "Numbers per node, and per embedding.", least=1, most=4096, panel=PANEL)
    kl_weight: float = option(5e-3, "The weight of the Kullback-Leibler divergence.", least=0, most=1000, panel=PANEL)
    edge_weight: float = option(
        1.0,
        "The weight of edges; the number of nodes makes the loss the lower bound per node.",
        above=0,
        most=1000,
        panel=PANEL,
    )
    as_published: bool = option(False, "All that follows as in the released code.", panel=PANEL)
    narrow: bool = option(True, "One more graph layer, as wide as the embedding.", panel=PANEL)
    operations: str = option(
        "softmax", "How operations are decoded: softmax over all, or a sigmoid each.", known=("softmax", "sigmoid"), panel=PANEL
    )
    log_deviation: bool = option(
        False, "Take the second head for the logarithm of the deviation, not of the variance.", panel=PANEL
    )
    kl_rescaled: bool = option(False, "Divide the divergence by the batch's number of nodes once more.", panel=PANEL)
    settled: bool = option(False, "After the first epoch train in evaluation mode, without noise.", panel=PANEL)
    pooling: str = option("sum", "The embedding: sum or mean over nodes.", known=("sum", "mean"), panel=PANEL)
    dropout: float = option(0.0, "The share of latent numbers left out in training.", least=0, below=1, panel=PANEL)
    clip: float | None = option(None, "The longest gradient, by its norm; by default any.", above=0, most=10**6, panel=PANEL)
    shuffle: bool = option(True, "New batches in every epoch.", panel=PANEL)

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        given = [name for name in PUBLISHED if getattr(self, name) not in (self.usual(name), PUBLISHED[name])]
        if self.as_published and given:
            found.append(f"`as_published` sets `{given[0]}` to {PUBLISHED[given[0]]}: leave one of them out.")
        return found

    def resolved(self) -> Self:
        """These settings with what `as_published` stands for."""
        return replace(self, **PUBLISHED) if self.as_published else self
