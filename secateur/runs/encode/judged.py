"""Cells of a table with how good it says they are, for a learner that is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.supervised_settings import SupervisedSettings
from secateur.encodings.sequence import as_graphs, graphs_refused
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.runs.encode.material import parts_of
from secateur.spaces.base import Space
from secateur.tables.opening import open_table
from secateur.tables.searchable import Reported, SearchTable


def judged(space: Space, settings: SupervisedSettings, cells: int | None, seed: int) -> tuple[Cells, dict[str, Any]]:
    """The cells of a table that have a value, or `cells` of them at random, with their values; and what these are: the table's
    name, its column and the budget. What is not given is as the table's metadata says.

    Raises ConfigurationError where the table is of another space, where architectures have several cells, and where no network
    has such a value; UnknownNameError, DataError for a table, column or budget that is not there.
    """
    opened = open_table(settings.table or "")
    _check(opened, space)
    target = _target(opened, settings)
    means = opened.table.means
    values = means.column(target.metric, target.budget)
    rows = np.flatnonzero(np.isfinite(values))
    if not len(rows):
        raise ConfigurationError(f"no network of the table `{opened.name}` has `{target}`. Give another --metric or --budget.")
    if cells is not None and cells < len(rows):
        rows = rows[generator(seed, "some").permutation(len(rows))[:cells]]
    found = parts_of(opened.space, (means.architectures[row] for row in rows.tolist()))
    return replace(found, targets=values[rows]), {"table": opened.name, "metric": target.metric, "budget": target.budget}


def _check(opened: SearchTable, space: Space) -> None:
    """Raise ConfigurationError for a table of other cells, and for architectures of several."""
    graphs = as_graphs(space)
    if graphs.cells > 1:
        raise ConfigurationError(
            f"`supervised` learns what each cell is worth, and an architecture of `{space.name}` has {graphs.cells} cells."
        )
    theirs = None if graphs_refused(opened.space) else as_graphs(opened.space)
    if theirs is None or (theirs.cells, theirs.nodes, theirs.names) != (graphs.cells, graphs.nodes, graphs.names):
        raise ConfigurationError(
            f"`table` {opened.name} holds networks of `{opened.space.name}`, and none of the cells of `{space.name}` that are "
            "to be learnt. Give a table of the same space and options."
        )


def _target(opened: SearchTable, settings: SupervisedSettings) -> Reported:
    """The column that is learnt, and the budget that it is read at; where a search looks, by default."""
    metric, budgets = settings.metric or opened.objectives[0], opened.table.budgets
    opened.objective(metric)
    budget = opened.budget if settings.budget is None else settings.budget
    if budget is None and budgets.ndim == 1 and len(budgets):
        budget = float(budgets[-1])
    opened.table.require(metric, budget)
    return Reported(metric, budget)
