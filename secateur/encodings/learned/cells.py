"""The cells that a learner is trained and tested on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cells:
    """Cells as vectors (n, d) of `GraphEncoding`, and what each costs (n,) where a learner asks for it."""

    vectors: np.ndarray
    costs: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, places: np.ndarray) -> Cells:
        return Cells(self.vectors[places], None if self.costs is None else self.costs[places])
