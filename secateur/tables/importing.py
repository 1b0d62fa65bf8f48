"""Published tables kept under a name: written once as Parquet, opened by name from then on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.errors import ConfigurationError, DataError
from secateur.paths import checked, reason
from secateur.tables.nasbench import recognised
from secateur.tables.parquet import write_parquet
from secateur.tables.searchable import SearchTable, searchable, shipped, tables_folder


@dataclass(frozen=True)
class Imported:
    """A table that was imported, and the file that it is kept in."""

    table: SearchTable
    file: Path

    def as_dict(self) -> dict[str, Any]:
        table = self.table.table
        said = {"table": self.table.name, "about": self.table.about, "rows": len(table), "columns": list(table.names)}
        return {**said, "budgets": table.budgets.tolist(), "file": self.file}

    def __str__(self) -> str:
        table = self.table
        return f"Written: {self.file}\n{table.name}: {len(table.table):,} rows. Search it with: --table {table.name}"


def import_table(path: str | Path, name: str | None = None) -> Imported:
    """Write a published table into the folder of imported ones, under its own name or another.

    Raises DataError for a file that cannot be read or written, ConfigurationError for a name that no table can have.
    """
    path = checked(path, DataError)
    found = recognised(path)
    name = found.name if name is None else name
    if name in shipped() or not name or Path(name).name != name or "." in name:
        raise ConfigurationError(f"`name` must be new and without stops and slashes, got `{name}`.")
    table, said = found.read()
    imported = searchable(table, said, name)
    file = tables_folder() / f"{name}.parquet"
    try:
        write_parquet(file, table, said, checked=True)
    except OSError as error:
        raise DataError(f"`{file}` cannot be written: {reason(error)}.") from error
    return Imported(imported, file)
