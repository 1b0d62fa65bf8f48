"""Tables to search on as Parquet files, with what their metadata says. The layout is told in `searchable`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.catalogue import find
from secateur.errors import ConfigurationError, DataError, MissingExtraError, one_line
from secateur.spaces.base import Space
from secateur.spaces.cells.every_cell import EveryCell
from secateur.spaces.cells.nasbench101 import NasBench101
from secateur.spaces.pruning import Shape
from secateur.tables.reading import read_table
from secateur.tables.table import UNSTATED, Table
from secateur.writing import whole

#: The key of a file's metadata.
METADATA = "secateur"
#: In the metadata: a digest of space and architectures, where these were checked.
CHECKED = "checked"
#: In the metadata: the rows are all architectures of the space, which no column spells.
EVERY = "every"


def read_parquet(path: Path) -> tuple[Table, dict[str, Any]]:
    """The table of a file, and what its metadata says. Raises DataError, MissingExtraError.

    `checked` in it becomes whether its architectures were found to be in their space and are still the same.
    """
    if not path.is_file():
        raise DataError(f"`{path}` does not exist. Give a table of evaluated architectures: a Parquet file.")
    said, lists = _schema(path)
    if said.get(EVERY):
        return _whole_space(path, said, lists), {**said, CHECKED: True}
    curves = [name for name in lists if name != "budgets"] if "budgets" in lists else []
    table = read_table(path, curves=curves, seconds="" if "seconds" in curves else "seconds")
    if curves:
        seconds = table.curves.get("seconds", table.seconds)
        final = tuple(name for name in table.final if name in said.get("final", ()))
        table = replace(table, curves={n: c for n, c in table.curves.items() if n != "seconds"}, seconds=seconds, final=final)
    return table, {**said, CHECKED: CHECKED in said and said[CHECKED] == _mark(said, table.architectures)}


def write_parquet(
    path: Path, rows: Table | Sequence[Mapping[str, Any]], said: Mapping[str, Any], *, checked: bool = False
) -> None:
    """Write a table, or rows with an `architecture` and numbers, and what the metadata says. Raises MissingExtraError.

    `checked`: the architectures are known to be in their space, and whoever reads the file need not look again.
    """
    pyarrow, parquet = _pyarrow()
    if isinstance(rows, Table):
        found = pyarrow.table(_columns(rows, every=bool(said.get(EVERY))))
    else:
        found = pyarrow.Table.from_pylist([{**row, "architecture": row["architecture"].to_json()} for row in rows])
    if checked:
        architectures = rows.architectures if isinstance(rows, Table) else [row["architecture"] for row in rows]
        said = {**said, CHECKED: _mark(said, architectures)}
    found = found.replace_schema_metadata({METADATA: json.dumps(dict(said), ensure_ascii=False)})
    with whole(path) as draft:
        parquet.write_table(found, draft, compression="zstd")


def space_of(said: Mapping[str, Any]) -> Space:
    """The space that a table's metadata describes. Raises KeyError, TypeError, ConfigurationError."""
    shape = [Shape(**said["shape"])] if "shape" in said else []
    space: Space = find("space", said["space"])(*shape, **said.get("limits", {}), **said.get("options", {}))
    return space


def _whole_space(path: Path, said: Mapping[str, Any], lists: Sequence[str]) -> Table:
    """A table whose rows are all architectures of its space, in the space's order."""
    arrow = _pyarrow()[1].read_table(path)
    try:
        space = space_of(said)
        rows = EveryCell(space) if isinstance(space, NasBench101) else tuple(space.every())
        plain = {name: arrow[name].to_numpy().astype(np.float64) for name in arrow.column_names if name not in lists}
        curves = {name: np.stack(arrow[name].to_numpy()).astype(np.float64) for name in lists}
        budgets = curves.pop("budgets", np.zeros((1, 0)))[0]
        seconds = curves.pop("seconds", plain.pop("seconds", None))
        return Table(rows, plain, curves, budgets, seconds, final=tuple(said.get("final", ())), where=str(path))
    except (KeyError, TypeError, ValueError, ConfigurationError) as error:
        raise DataError(f"`{path}` must have numbers for every architecture of its space: {one_line(error)}.") from error


def _columns(table: Table, every: bool) -> dict[str, Any]:
    """What a table holds, by the names of the file's columns."""
    lists = {"budgets": table._grid, **table.curves} if table.curves else {}
    plain: dict[str, Any] = {"seed": table.seed} if table.seed.any() else {}
    if table.sources != [UNSTATED]:
        plain["source"] = table.source
    if table.seconds is not None:
        (lists if table.seconds.ndim == 2 else plain)["seconds"] = table.seconds
    texts = {} if every else {a: a.to_json() for a in set(table.architectures)}
    named = {} if every else {"architecture": [texts[a] for a in table.architectures]}
    return {**named, **plain, **table.columns, **table.extra, **{name: _lists(values) for name, values in lists.items()}}


def _lists(values: np.ndarray) -> Any:
    """The rows of an array (n, b) as a column of lists."""
    pyarrow, _ = _pyarrow()
    starts = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    return pyarrow.ListArray.from_arrays(starts, np.ascontiguousarray(values).ravel())


def _mark(said: Mapping[str, Any], architectures: Sequence[Architecture]) -> str:
    space = {name: said.get(name) for name in ("space", "options", "shape", "limits")}
    return digest("checked 1", json.dumps(space), *(f"{a.space} {a.key} {a.choices}" for a in architectures))


def _schema(path: Path) -> tuple[dict[str, Any], list[str]]:
    """What the metadata says, and the names of the columns that hold lists."""
    pyarrow, parquet = _pyarrow()
    try:
        schema = parquet.read_schema(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"`{path}` is not a Parquet file: {one_line(error)}.") from error
    try:
        said = json.loads((schema.metadata or {}).get(METADATA.encode(), b"{}"))
    except ValueError:
        said = {}
    lists = [field.name for field in schema if pyarrow.types.is_list(field.type) or pyarrow.types.is_large_list(field.type)]
    return said if isinstance(said, dict) else {}, lists


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    return pyarrow, pyarrow.parquet
