"""Estimators: how good or how costly architectures are, as named numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from secateur.architecture import Architecture


@dataclass(frozen=True)
class Evaluation:
    """What an estimator found of one architecture.

    `failure` is the reason where there is no number (the trial fails, the study goes on). `extra` holds values of other
    architectures that came for free (the shallower depths of one pass). `details` are figures to show, not to search by
    (a latency's spread, further metrics). `curve` holds values at smaller budgets, (budget, values) by rising budget, where
    the way there is known. `seconds` is what it cost where the estimator knows better than a clock: on a table, what training
    took from its start to this budget.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    failure: str | None = None
    extra: tuple[tuple[Architecture, Mapping[str, float]], ...] = ()
    details: Mapping[str, float | str] = field(default_factory=dict)
    curve: tuple[tuple[float, Mapping[str, float]], ...] = ()
    seconds: float | None = None


class Estimator(ABC):
    """`evaluate` architectures; `fingerprint` says what the numbers hold for."""

    #: Names of the values it yields, out of `objectives.QUANTITIES`.
    yields: tuple[str, ...]
    #: Rank for ordering, cheapest first: 0 counts, 1 passes over data, 2 measures on the device, 3 trains.
    cost: ClassVar[int]

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A digest of all that the numbers depend on beside the architecture: part of every cache key."""

    @abstractmethod
    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        """One Evaluation per architecture, in order."""
