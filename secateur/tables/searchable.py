"""Tables to search on: networks of one space with the values that a search would be told, in a Parquet file.

A file has a row per training: `architecture` (the JSON of an Architecture: space, choices, key) and numbers such as `error`,
`parameters`, `body_parameters`, `macs` and `latency`. Where networks were trained, there may be `seed`, `source`, `seconds`
(of the whole training, or a list of them up to each budget), `budgets` (a list of numbers) and curves (lists as long). Where
there are curves, the numbers hold at every budget but those of `final`. The key-value metadata has under `secateur` the JSON of

    {"space": "nasbench201", "options": {"merged": false}, "objectives": ["validation"], "maximise": ["validation", "test"],
     "budget": 12, "reported": [{"metric": "test", "budget": 200}], "final": [], "about": "what was trained on what"}

- `space`: its name, with the `options` that it is made with; a pruning space also has the `shape` of the whole network
  (`{"layers": 6, "heads": 12, "units": 1536}`) and its `limits`, the ranges that were searched (`{"units": ":128"}`);
- `objectives`: what a search optimises where nothing else is asked for, and `maximise`: what is the better the higher it is;
- `every`: true where the rows are all architectures of the space in the order of its `every()`: then none are spelt;
- `budget`: where a search looks at the curves, by default at their end; `reported`: what is told of the network found.

All but `space` and `objectives` may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, DataError, UnknownNameError, one_line
from secateur.objectives import QUANTITIES, Objective
from secateur.spaces.base import Space
from secateur.spaces.pool import Pool
from secateur.tables.parquet import CHECKED, METADATA, read_parquet, space_of, write_parquet
from secateur.tables.table import Table

#: Spaces of more points than this are not checked for being in a table whole.
MOST = 100_000


@dataclass(frozen=True)
class Reported:
    """What is told of a network that a search found: a metric at a budget, None for the end of training."""

    metric: str
    budget: float | None = None

    def __str__(self) -> str:
        return self.metric if self.budget is None else f"{self.metric}@{self.budget:g}"


@dataclass(frozen=True)
class SearchTable:
    """A table with the space that it holds the networks of, or as many of them as it has (a Pool).

    A search on it optimises `objectives`, of which those in `maximise` are maximised, as they are at `budget` (None: at the end
    of training); `reported` is what counts in the end. `said` is all that its metadata says.
    """

    name: str
    about: str
    table: Table
    space: Space
    objectives: tuple[str, ...]
    maximise: tuple[str, ...] = ()
    budget: float | None = None
    reported: tuple[Reported, ...] = ()
    said: Mapping[str, Any] = field(default_factory=dict)

    def objective(self, name: str) -> Objective:
        """A column or curve as an objective, with its direction. Raises UnknownNameError."""
        if name not in self.table.names:
            raise UnknownNameError("column", name, self.table.names, f"They are those of the table {self.name}.")
        known = QUANTITIES[name].direction if name in QUANTITIES else "min"
        return Objective(name, "max" if name in self.maximise else known)


def write_searchable(path: Path, rows: Table | Sequence[Mapping[str, Any]], said: Mapping[str, Any]) -> None:
    """Write a table, or rows with an `architecture` and numbers, and what its metadata says."""
    write_parquet(path, rows, said)


def read_searchable(path: Path, name: str) -> SearchTable:
    """The table of a file, and its space. Raises DataError where the file does not say which, or has networks of another."""
    return searchable(*read_parquet(path), name)


def _fault(space: Space, architecture: Architecture) -> str:
    """Why an architecture is not one of a space."""
    try:
        made = space.make(dict(architecture.choices))
    except (ConfigurationError, KeyError, TypeError, ValueError) as error:
        return f"{architecture} is not in the space that its metadata describes: {one_line(error)}."
    if made.choices == architecture.choices and made.key != architecture.key:
        return f"its key is `{architecture.key}`, but the hash of its architecture is `{made.key}`."
    return f"{architecture} is not in the space that its metadata describes, which has {made} in its place."


def searchable(table: Table, said: Mapping[str, Any], name: str) -> SearchTable:
    """A table with what its metadata says. Raises DataError where that does not fit."""
    try:
        space = space_of(said)
        objectives, maximise = tuple(map(str, said["objectives"])), tuple(map(str, said.get("maximise", ())))
        reported = tuple(Reported(str(one["metric"]), one.get("budget")) for one in said.get("reported", ()))
        budget = None if said.get("budget") is None else float(said["budget"])
    except (KeyError, TypeError, ValueError, AttributeError, ConfigurationError) as error:
        reason = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(
            f"`{table.where}` cannot be searched: its metadata `{METADATA}` does not describe a space: {reason}."
        ) from error
    for row, architecture in enumerate(() if said.get(CHECKED) else table.architectures, 1):
        if not space.contains(architecture):
            raise DataError(f"`{table.where}` cannot be searched: row {row}: {_fault(space, architecture)}")
    for column in (*objectives, *maximise):
        table.require(column)
    for one in (*(Reported(column, budget) for column in objectives), *reported):
        table.require(one.metric, one.budget)
    partial = not table.answers_all and table.distinct < space.size()
    if partial and (space.size() > MOST or any(a.key not in table for a in space.every())):
        space = Pool(space, table.architectures)
    return SearchTable(name, str(said.get("about", "")), table, space, objectives, maximise, budget, reported, said)
