"""What the supervised counterpart of arch2vec is trained with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.settings import LearnerSettings
from secateur.settings import option, shared


@dataclass(frozen=True, kw_only=True)
class SupervisedSettings(LearnerSettings):
    """The settings of arch2vec's encoder, and where accuracies come from. It sees few cells, and those often."""

    graph: ClassVar[str] = "gin"
    narrow: ClassVar[bool] = True
    pooling: ClassVar[str] = "sum"

    epochs: int = shared(LearnerSettings, "epochs", 100)
    width: int = shared(Arch2vecSettings, "width")
    layers: int = shared(Arch2vecSettings, "layers")
    latent: int = shared(Arch2vecSettings, "latent")
    table: str | None = option(None, "The table whose networks' accuracies it is told: a name, or a file.")
    metric: str | None = option(None, "The column that is learnt; by default the first that the table optimises.")
    budget: float | None = option(
        None, "The budget, such as epochs, at which it is learnt; by default as the table names it.", above=0, most=10**9
    )

    def contradictions(self) -> list[str]:
        missing = "`table` is missing: `supervised` learns from the accuracies of one, such as --table nb101."
        return super().contradictions() + [missing] * (self.table is None)
