"""Trials one after the other, in this process."""

from __future__ import annotations

from secateur.estimators.together import Known, Outcome, Together
from secateur.study.executors.base import Executor
from secateur.trial import Trial


class Inline(Executor):
    """Evaluates when an outcome is asked for, in the order of submission."""

    def __init__(self, together: Together) -> None:
        self.together = together
        self._waiting: list[tuple[Trial, Known, bool]] = []

    def submit(self, trial: Trial, known: Known, extras: bool) -> None:
        self._waiting.append((trial, known, extras))

    def take(self) -> Outcome:
        return self.together.outcome(*self._waiting.pop(0))

    def close(self) -> None:
        self._waiting.clear()
