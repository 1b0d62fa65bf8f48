"""Layer dropping (Sajjad et al. 2022): some layers go, the rest is fine-tuned. No search."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.methods.drops import kept
from secateur.methods.standard import Standard


class LayerDrop(Standard):
    """Every number of layers from all but one down to one, each fine-tuned by itself."""

    spaces = ("layer",)
    lists = True
    budgets = False
    uses: ClassVar[tuple[str, ...]] = (*Standard.uses, "drop")

    def candidates(self) -> list[Architecture]:
        layers = self.bench.space.shape.layers
        chosen = [kept(layers, dropped, self.bench.c.drop) for dropped in range(1, layers)]
        return [self.bench.space.from_values(np.isin(np.arange(layers), some).astype(np.int64)) for some in chosen]

    @property
    def expected(self) -> float:
        return (self.bench.space.shape.layers - 1) / 2
