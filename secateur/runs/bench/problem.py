"""What a bench searches a table for: its objectives at the budget that drives a search, and what is reported beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.tables.curves.answering import AnsweringTable
from secateur.tables.searchable import Reported, SearchTable
from secateur.tables.table import Table


def measure(text: str) -> Reported:
    """`test` or `test@200`. Raises ConfigurationError."""
    metric, at, budget = text.partition("@")
    try:
        return Reported(metric, float(budget) if at else None)
    except ValueError:
        raise ConfigurationError(f"`{text}` must be a column, or one at a budget such as {metric}@200.") from None


@dataclass(frozen=True)
class Problem:
    """Networks of a table are sought by their `objectives` at a `budget` (None: the end of training), and the `reported`
    measures are told of those found."""

    table: SearchTable
    objectives: tuple[Objective, ...]
    budget: float | None = None
    reported: tuple[Reported, ...] = ()

    @classmethod
    def of(cls, table: SearchTable, objectives: Sequence[str], budget: float | None, reported: Sequence[str] | None) -> Self:
        """What is not given is as the table's metadata says. Raises UnknownNameError, DataError for what the table lacks."""
        names = tuple(dict.fromkeys(objectives)) or table.objectives
        every = table.table.budgets
        budget = table.budget if budget is None else budget
        if budget is None and every.ndim == 1 and len(every):
            budget = float(every[-1])
        told = table.reported if reported is None else tuple(map(measure, reported))
        found = cls(table, tuple(map(table.objective, names)), budget, told)
        for one in (*(Reported(name, budget) for name in names), *told):
            checked(table, one)
        return found

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def measures(self) -> tuple[Reported, ...]:
        """What is told of the best network: the objective that it is best in, then what is reported."""
        drive = Reported(self.objectives[0].name, self.budget)
        return (drive, *(measure for measure in self.reported if measure != drive))

    @property
    def budgets(self) -> tuple[float, ...]:
        """The budgets of the table up to the one that drives, by which trainings may be stopped."""
        most = np.inf if self.budget is None else self.budget
        return tuple(sorted({float(b) for b in np.ravel(self.table.table.budgets) if b <= most}))

    @property
    def architectures(self) -> Sequence[Architecture]:
        """The networks, in the order of columns."""
        return self._means.architectures

    @property
    def points(self) -> np.ndarray:
        """The minimised objectives (n, m) of all networks that have them."""
        every = np.column_stack([o.sign * self.column(Reported(o.name, self.budget)) for o in self.objectives])
        return every[np.isfinite(every).all(axis=1)]

    @cached_property
    def best(self) -> float:
        """The least value of the first objective, minimised, that any training of the table has at the driving budget."""
        first = self.objectives[0]
        return float(np.nanmin(first.sign * self.table.table.column(first.name, self.budget)))

    def column(self, measure: Reported) -> np.ndarray:
        """A measure of each network of the table, means over its trainings; NaN where it is not known."""
        return self._means.column(measure.metric, measure.budget)

    def rows(self, keys: Iterable[str]) -> np.ndarray:
        """Where the networks of these keys stand in columns."""
        return np.array([self._places[key] for key in keys], dtype=int)

    def knowing(self, spelt: Iterable[str]) -> Problem:
        """The same where the table also has rows for these architectures, which it answers for anyway."""
        table = self.table.table
        if not isinstance(table, AnsweringTable):
            return self
        known = table.knowing([Architecture.from_json(text) for text in spelt])
        return replace(self, table=replace(self.table, table=known))

    @cached_property
    def mean_seconds(self) -> float:
        """What a training up to the driving budget takes. Raises ConfigurationError where the table has no times."""
        if self._means.seconds is None:
            raise ConfigurationError(f"`seconds` cannot be simulated: the table `{self.name}` has no times. Give --queries.")
        found = [self._means.seconds_to(key, self.budget) for key in self._means.keys]
        return float(np.mean([seconds for seconds in found if seconds is not None]))

    @property
    def _means(self) -> Table:
        return self.table.table.means

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: row for row, key in enumerate(self._means.keys)}


def checked(table: SearchTable, measure: Reported) -> None:
    """Raise UnknownNameError, DataError or ConfigurationError for a column or budget that the table lacks."""
    table.objective(measure.metric)
    table.table.require(measure.metric, measure.budget)
    if np.isfinite(table.table.column(measure.metric, measure.budget)).any():
        return
    has = [f"{b:g}" for b in np.unique(table.table.budgets) if np.isfinite(table.table.column(measure.metric, b)).any()]
    raise ConfigurationError(
        f"no network of the table `{table.name}` has `{measure}`. It is known at: {', '.join(has) or 'none'}."
    )
