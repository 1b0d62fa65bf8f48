"""Learning curves that a model learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from secateur.errors import ConfigurationError


@dataclass(frozen=True)
class Known:
    """n trainings: `inputs` (n, d), and the `curves` (n, m, b) of m `metrics` at b `budgets`. In `keys` (n,) the trainings of
    one architecture with several seeds have one name."""

    inputs: np.ndarray
    curves: np.ndarray
    metrics: tuple[str, ...]
    budgets: np.ndarray
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        shape = (len(self.keys), len(self.metrics), len(self.budgets))
        if self.curves.shape != shape or len(self.inputs) != len(self.keys):
            got = f"{self.curves.shape} and {self.inputs.shape}"
            raise ConfigurationError(f"`curves` must have the shape {shape} and `inputs` as many rows, got {got}.")

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def flat(self) -> np.ndarray:
        """The curves of a training behind each other, (n, m · b)."""
        return self.curves.reshape(len(self), -1)

    @cached_property
    def architectures(self) -> dict[str, np.ndarray]:
        """The rows of each architecture, in order of first appearance."""
        found: dict[str, list[int]] = {}
        for row, key in enumerate(self.keys):
            found.setdefault(key, []).append(row)
        return {key: np.array(rows) for key, rows in found.items()}

    @property
    def repeated(self) -> int:
        """How many architectures were trained with several seeds."""
        return sum(len(rows) > 1 for rows in self.architectures.values())

    def take(self, rows: Sequence[int] | np.ndarray) -> Known:
        """Some of the trainings."""
        places = np.asarray(rows, dtype=int)
        keys = tuple(self.keys[place] for place in places.tolist())
        return Known(self.inputs[places], self.curves[places], self.metrics, self.budgets, keys)

    def of(self, architectures: Sequence[str]) -> Known:
        """All trainings of some architectures."""
        rows = [self.architectures[key] for key in architectures]
        return self.take(np.concatenate(rows) if rows else [])

    def means(self) -> Known:
        """One curve per architecture, the mean over its trainings, as are its inputs."""
        rows = list(self.architectures.values())
        curves = np.array([self.curves[several].mean(axis=0) for several in rows]).reshape(-1, *self.curves.shape[1:])
        inputs = np.array([self.inputs[several].mean(axis=0) for several in rows]).reshape(-1, self.inputs.shape[1])
        return Known(inputs, curves, self.metrics, self.budgets, tuple(self.architectures))

    def firsts(self) -> Known:
        """The first training of each architecture."""
        return self.take([rows[0] for rows in self.architectures.values()])

    def folds(self, count: int, order: np.ndarray) -> list[tuple[Known, Known]]:
        """What is learnt from and what is held out, `count` times: each architecture is held out once, all its trainings
        together. `order` (architectures,) is a permutation."""
        keys = list(self.architectures)
        parts = [[keys[place] for place in order[fold::count].tolist()] for fold in range(count)]
        return [
            (self.of([key for other in parts if other is not part for key in other]), self.of(part)) for part in parts if part
        ]
