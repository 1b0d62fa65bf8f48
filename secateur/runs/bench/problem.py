"""What a bench searches a table for: its objectives at the budget that drives a search, and what is reported beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from secateur.errors import ConfigurationError, UnknownNameError
from secateur.objectives import QUANTITIES, Objective
from secateur.tables.searchable import SearchTable
from secateur.tables.table import Table


class Measure(NamedTuple):
    """A column or curve of a table at a budget; None is the end of training."""

    metric: str
    budget: float | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """`test` or `test@200`. Raises ConfigurationError."""
        metric, at, budget = text.partition("@")
        try:
            return cls(metric, float(budget) if at else None)
        except ValueError:
            raise ConfigurationError(f"`{text}` must be a column, or one at a budget such as {metric}@200.") from None

    def __str__(self) -> str:
        return self.metric if self.budget is None else f"{self.metric}@{self.budget:g}"


@dataclass(frozen=True)
class Problem:
    """Networks of a table are sought by their `objectives` at a `budget` (None: the end of training), and the `reported`
    measures are told of those found."""

    table: SearchTable
    objectives: tuple[Objective, ...]
    budget: float | None = None
    reported: tuple[Measure, ...] = ()

    @classmethod
    def of(cls, table: SearchTable, objectives: Sequence[str], budget: float | None, reported: Sequence[str] | None) -> Self:
        """What is not given is as the table's metadata says. Raises ConfigurationError for what the table does not have."""
        names = tuple(dict.fromkeys(objectives)) or table.objectives
        budget = table.budget if budget is None else budget
        told = table.reported if reported is None else [Measure.parse(text) for text in reported]
        found = cls(table, tuple(_objective(table, name) for name in names), budget, tuple(Measure(*m) for m in told))
        for measure in (*(Measure(name, budget) for name in names), *found.reported):
            _check(table, measure)
        return found

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is told of the best network: the objective that it is best in, then what is reported."""
        drive = Measure(self.objectives[0].name, self.budget)
        return (drive, *(measure for measure in self.reported if measure != drive))

    @property
    def budgets(self) -> tuple[float, ...]:
        """The budgets of the table up to the one that drives, by which trainings may be stopped."""
        most = np.inf if self.budget is None else self.budget
        return tuple(b for b in known_budgets(self.table) if b <= most)

    @property
    def points(self) -> np.ndarray:
        """The minimised objectives (n, m) of all networks that have them."""
        every = np.column_stack([o.sign * self.column(Measure(o.name, self.budget)) for o in self.objectives])
        return every[np.isfinite(every).all(axis=1)]

    def column(self, measure: Measure) -> np.ndarray:
        """A measure of each network of the table, means over its trainings; NaN where it is not known."""
        return self._means.column(measure.metric, measure.budget)

    def rows(self, keys: Sequence[str]) -> np.ndarray:
        """Where the networks of these keys stand in columns."""
        return np.array([self._places[key] for key in keys], dtype=int)

    @cached_property
    def mean_seconds(self) -> float:
        """What a training up to the driving budget takes. Raises ConfigurationError where the table has no times."""
        if self._means.seconds is None:
            raise ConfigurationError(f"`seconds` cannot be simulated: the table `{self.name}` has no times. Give --queries.")
        found = [self._means.seconds_to(key, self.budget) for key in self._means.keys]
        return float(np.mean([seconds for seconds in found if seconds is not None]))

    @cached_property
    def _means(self) -> Table:
        return self.table.table.averaged()

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: row for row, key in enumerate(self._means.keys)}


def known_budgets(table: SearchTable) -> list[float]:
    """The budgets that a table has curves at."""
    return sorted({float(b) for b in np.ravel(table.table.budgets) if np.isfinite(b)})


def _objective(table: SearchTable, name: str) -> Objective:
    usual = QUANTITIES[name].direction if name in QUANTITIES else "min"
    return Objective(name, "max" if name in table.maximise else usual)


def _check(table: SearchTable, measure: Measure) -> None:
    """Raise UnknownNameError or ConfigurationError for a column or budget that the table lacks, with those it has."""
    if measure.metric not in table.table.names:
        raise UnknownNameError("column", measure.metric, table.table.names, f"They are those of the table {table.name}.")
    if np.isfinite(table.table.column(measure.metric, measure.budget)).any():
        return
    has = [f"{b:g}" for b in known_budgets(table) if np.isfinite(table.table.column(measure.metric, b)).any()]
    at = "the end of training" if measure.budget is None else f"budget {measure.budget:g}"
    raise ConfigurationError(
        f"the table `{table.name}` has no `{measure.metric}` at {at}; it has it at: {', '.join(has) or 'no budget'}."
    )
