"""Published tables kept under a name: written once as Parquet, opened by name from then on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.errors import ConfigurationError, DataError
from secateur.paths import checked, reason
from secateur.spaces.cells import NasBench101
from secateur.tables.nasbench import Published, recognised
from secateur.tables.opening import shipped, tables_folder
from secateur.tables.parquet import CHECKED, EVERY, space_of, write_parquet
from secateur.tables.searchable import SearchTable, searchable
from secateur.tables.surrogate.table import surrogate
from secateur.writing import whole


@dataclass(frozen=True)
class Imported:
    """A table that was imported, and the file that it is kept in."""

    table: SearchTable
    file: Path
    replaced: bool = False  # a table of this name that was imported before

    def as_dict(self) -> dict[str, Any]:
        table = self.table.table
        said = {"table": self.table.name, "about": self.table.about, "rows": len(table), "columns": list(table.names)}
        return {**said, "budgets": table.budgets.tolist(), "file": self.file}

    def __str__(self) -> str:
        table = self.table
        rows = f"{len(table.table):,} rows, to be searched with --table {table.name}: {self.file}"
        return f"{table.name}: {table.about}.\n{rows}{', in the place of the one imported before' * self.replaced}"


def import_table(path: str | Path, name: str | None = None) -> Imported:
    """Write a published table into the folder of imported ones, under its own name or another.

    Raises DataError for a file that cannot be read or written, ConfigurationError for a name that no table can have.
    """
    found = _recognised(path)
    name = _name(name, found.name)
    table, said = found.read()
    return _written(searchable(table, said, name), said)


def import_surrogate(path: str | Path, name: str | None = None) -> Imported:
    """Fit a surrogate on a published table of NAS-Bench-101, and write what it says of every cell; its trees beside it.

    Raises as `import_table`, and MissingExtraError.
    """
    found = _recognised(path)
    name = _name(name, f"{found.name}-surrogate")
    table, said = found.read()
    space = space_of(said)
    if not isinstance(space, NasBench101):
        raise DataError(f"`{path}`: only cells of NAS-Bench-101 have a surrogate; of {said['space']} the table has all.")
    made, told, trees = surrogate(table, space)
    told |= {"options": said.get("options", {})}
    imported = _written(searchable(made, {**told, CHECKED: True}, name), told)
    for quantity, one in trees.items():
        with whole(imported.file.with_name(f"{name}-{quantity}.txt")) as draft:
            one.booster.save_model(draft)
    return imported


def _recognised(path: str | Path) -> Published:
    found = checked(path, DataError)
    if found.suffix == ".parquet":
        raise DataError(f"`{path}` needs no import: a Parquet file is searched as it is, with --table {path}.")
    return recognised(found)


def _name(given: str | None, usual: str) -> str:
    name = usual if given is None else given
    if name in shipped() or not name or Path(name).name != name or "." in name:
        raise ConfigurationError(f"`name` must be new and without stops and slashes, got `{name}`.")
    return name


def _written(table: SearchTable, said: Mapping[str, Any]) -> Imported:
    file = tables_folder() / f"{table.name}.parquet"
    there = file.exists()
    try:
        write_parquet(file, table.table, said, checked=not said.get(EVERY))
    except OSError as error:
        raise DataError(f"`{file}` cannot be written: {reason(error)}.") from error
    return Imported(table, file, there)
