"""The architectures that a trained encoding is looked at with: those of a table with their values, or of a space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings import Encoding
from secateur.errors import DataError
from secateur.report.encoding_data import Measure
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.cells import CellSpace
from secateur.spaces.cells.every_cell import listed
from secateur.spaces.pool import whole
from secateur.tables.searchable import SearchTable

#: Architectures that are embedded at most, and how many are drawn of a space that has more.
MOST, DRAWN = 500_000, 20_000


@dataclass(frozen=True, eq=False)
class Population:
    """Different architectures (n,) in a random order, the best first where there are values (n,), with their embeddings (n, d);
    `total` is how many the table or space has."""

    space: Space
    architectures: Sequence[Architecture]
    values: np.ndarray
    vectors: np.ndarray
    measure: Measure | None
    total: int
    table: SearchTable | None = None

    def values_of(self, keys: Sequence[str]) -> np.ndarray:
        """What the table says of architectures (k,) by their keys; NaN where it does not know them."""
        if self.table is None or self.measure is None:
            return np.full(len(keys), np.nan)
        return self.table.table.query(keys, self.measure.name, self.measure.budget)


def measure_of(table: SearchTable, metric: str | None, budget: float | None) -> Measure:
    """A column or curve of a table, by default the first that it optimises, where the table reports it or else searches.

    Raises UnknownNameError, DataError where the table has no such metric or budget.
    """
    name = metric or table.objectives[0]
    objective = table.objective(name)
    if budget is None:
        told = [one.budget for one in table.reported if one.metric == name]
        budget = told[0] if told else table.budget if name in table.objectives else None
    table.table.require(name, budget)
    return Measure(name, objective.direction, budget, table.name)


def of_table(table: SearchTable, measure: Measure, encoding: Encoding, seed: int) -> Population:
    """Raises DataError where the table has no value of the measure, or too few architectures to compare."""
    rows = table.table.means
    values = rows.column(measure.name, measure.budget)
    if not np.isfinite(values).any():
        raise DataError(f"`{table.table.where}` has no value of `{measure.name}` where it was asked for.")
    order = generator(seed, "population").permutation(len(rows))
    best = int(np.nanargmax(values) if measure.best == "max" else np.nanargmin(values))
    order = np.concatenate([[best], order[order != best]])[:MOST]
    chosen = [rows.architectures[row] for row in order.tolist()]
    return Population(whole(table.space), chosen, values[order], encoding.encode(chosen), measure, len(rows), table)


def of_space(space: Space, encoding: Encoding, seed: int) -> Population:
    """All architectures of a space, or some that are drawn; their values are what the space says that they cost."""
    rng = generator(seed, "population")
    if space.size() <= MOST:
        every = listed(space)
        chosen = [every[place] for place in rng.permutation(len(every)).tolist()]
        total = len(chosen)
    else:
        chosen = list({a.key: a for a in space.sample_many(DRAWN, rng)}.values())
        total = space.size()
    costs = space.costs(chosen)
    values = np.full(len(chosen), np.nan) if costs is None else costs.sum(axis=1)
    counted = isinstance(space, CellSpace) and space.parameters(chosen[0]) is not None
    measure = Measure("parameters" if counted else "cost") if np.isfinite(values).any() else None
    return Population(space, chosen, values, encoding.encode(chosen), measure, total)
