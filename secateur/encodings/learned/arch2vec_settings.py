"""What arch2vec is trained with: as its text has it, and every difference of the code its authors released as a switch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from secateur.encodings.learned.settings import LearnerSettings
from secateur.settings import option

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
class Arch2vecSettings(LearnerSettings):
    """The settings of arch2vec (Yan 2022, chapter 3)."""

    width: int = option(128, "Units of a graph layer.", least=1, most=4096)
    layers: int = option(4, "Graph layers of that width.", least=1, most=64)
    latent: int = option(16, "Numbers per node, and per embedding.", least=1, most=4096)
    kl_weight: float = option(5e-3, "The weight of the Kullback-Leibler divergence.", least=0, most=1000)
    edge_weight: float = option(
        1.0,
        "The weight of edges; the number of nodes makes the loss the lower bound per node.",
        above=0,
        most=1000,
    )
    graph: str = option(
        "gin", "Its layers: gin (isomorphism networks) or gcn (convolutions, Kipf & Welling 2016).", known=("gin", "gcn")
    )
    variational: bool = option(True, "With noise in training and the divergence; without, a plain autoencoder.")
    as_published: bool = option(False, "All that follows, `clip` and `kl_weight` as in the released code.")
    narrow: bool = option(True, "One more graph layer, as wide as the embedding.")
    operations: str = option(
        "softmax", "How operations are decoded: softmax over all, or a sigmoid each.", known=("softmax", "sigmoid")
    )
    log_deviation: bool = option(False, "Take the second head for the logarithm of the deviation, not of the variance.")
    kl_rescaled: bool = option(False, "Divide the divergence by the batch's number of nodes once more.")
    settled: bool = option(False, "After the first epoch train in evaluation mode, without noise.")
    pooling: str = option("sum", "The embedding: sum or mean over nodes.", known=("sum", "mean"))
    dropout: float = option(0.0, "The share of latent numbers left out in training.", least=0, below=1)
    shuffle: bool = option(True, "New batches in every epoch.")

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        given = [name for name in PUBLISHED if getattr(self, name) not in (self.usual(name), PUBLISHED[name])]
        if self.as_published and given:
            found.append(f"`as_published` sets `{given[0]}` to {PUBLISHED[given[0]]}: leave one of them out.")
        idle = [name for name in ("kl_weight", "kl_rescaled", "log_deviation") if getattr(self, name) != self.usual(name)]
        if idle and not self.variational:
            found.append(f"`{idle[0]}` is of the divergence, and without `variational` there is none: leave one of them out.")
        return found

    def resolved(self) -> Self:
        """These settings with what `as_published` stands for."""
        return replace(self, **PUBLISHED) if self.as_published else self
