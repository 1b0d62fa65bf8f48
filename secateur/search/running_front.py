"""The front of results that come in one by one."""

from __future__ import annotations

import math

import numpy as np

from secateur.trial import Trial, level


class RunningFront:
    """The non-dominated results at the largest budget so far, in the order told; one per architecture and point."""

    def __init__(self, objectives: int) -> None:
        self.trials: list[Trial] = []
        self.points = np.zeros((0, objectives))
        self.largest = -math.inf

    def add(self, trial: Trial, point: np.ndarray) -> None:
        """Take a complete result with its minimised values (m,) into account."""
        # One comparison with the front per result: a front of all results per ask would cost more with every trial.
        spent = level(trial.budget)
        if spent < self.largest:
            return
        if spent > self.largest:  # a value at a smaller budget says nothing beside one at this
            self.largest, self.trials, self.points = spent, [], self.points[:0]
        no_worse = np.all(self.points <= point, axis=1)
        if np.any(no_worse & np.any(self.points < point, axis=1)):
            return
        if any(t.key == trial.key for t, equal in zip(self.trials, no_worse, strict=True) if equal):
            return
        keep = ~(np.all(point <= self.points, axis=1) & np.any(point < self.points, axis=1))
        self.trials = [t for t, kept in zip(self.trials, keep, strict=True) if kept] + [trial]
        self.points = np.vstack([self.points[keep], point])
