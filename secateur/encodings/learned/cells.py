"""The cells that a learner is trained and tested on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cells:
    """Cells as vectors (n, d) of `GraphEncoding`, and where a learner asks for it what each costs (n,) and, in `targets`, how
    good it is (n,)."""

    vectors: np.ndarray
    costs: np.ndarray | None = None
    targets: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, places: np.ndarray) -> Cells:
        beside = (None if part is None else part[places] for part in (self.costs, self.targets))
        return Cells(self.vectors[places], *beside)
