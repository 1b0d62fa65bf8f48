"""What the graph autoencoders are trained with that arch2vec is compared with (Yan 2022, table 3.1): other defaults."""

from __future__ import annotations

from dataclasses import dataclass

from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.settings import shared


@dataclass(frozen=True, kw_only=True)
class VgaeSettings(Arch2vecSettings):
    """arch2vec's settings, with graph convolutions."""

    graph: str = shared(Arch2vecSettings, "graph", "gcn")


@dataclass(frozen=True, kw_only=True)
class GaeSettings(VgaeSettings):
    """Without noise and divergence too."""

    variational: bool = shared(Arch2vecSettings, "variational", False)
