"""Several models of the same curves, fitted to different parts of the data with different seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from secateur.predictors.curves.known import Known
from secateur.predictors.curves.model import LEAST, CurveModel, Ways
from secateur.rng import Generator, generator

#: Which of the architectures a member of several learns from.
SHARE = 0.9


@dataclass(frozen=True)
class CurveEnsemble:
    """The mean is that of the members; the noise of a training is that of one of them."""

    members: Sequence[CurveModel]

    @classmethod
    def fitted(cls, known: Known, ways: Ways, members: int = 1, seed: int = 0) -> Self:
        """One model of all trainings, or several of most each. Raises ConfigurationError."""
        if members == 1:
            return cls([CurveModel.fitted(known, ways, seed)])
        keys = list(known.architectures)
        count = max(min(LEAST, len(keys)), round(SHARE * len(keys)))
        found = []
        for member in range(members):
            chosen = generator(seed, "members", member).permutation(len(keys))[:count]
            found.append(CurveModel.fitted(known.of([keys[place] for place in sorted(chosen)]), ways, seed + member))
        return cls(found)

    def mean(self, inputs: np.ndarray) -> np.ndarray:
        """The expected curves (n, m, b) of inputs (n, d)."""
        return np.asarray(np.mean([member.mean(inputs) for member in self.members], axis=0))

    def drawn(self, inputs: np.ndarray, rngs: Sequence[Generator]) -> np.ndarray:
        """Noise (n, m, b) that trainings of inputs (n, d) may have, each by its own generator."""
        first = self.members[0]
        found = np.zeros((len(inputs), len(first.scale), first.steps))
        chosen = np.array([rng.integers(len(self.members)) for rng in rngs], dtype=int)
        for place, member in enumerate(self.members):
            rows = np.flatnonzero(chosen == place)
            found[rows] = member.drawn(inputs[rows], [rngs[row] for row in rows.tolist()])
        return found

    def deviation(self, inputs: np.ndarray) -> np.ndarray:
        """The deviations (n, m, b) of that noise."""
        return np.asarray(np.sqrt(np.mean([member.noise.deviation(inputs) ** 2 for member in self.members], axis=0)))

    def write(self, folder: Path) -> None:
        for place, member in enumerate(self.members):
            member.write(folder / f"member-{place}")

    @classmethod
    def read(cls, folder: Path, ways: Ways, members: int) -> Self:
        """The models that were written there. Raises StudyError."""
        return cls([CurveModel.read(folder / f"member-{place}", ways) for place in range(members)])
