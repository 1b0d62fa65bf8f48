"""Tables to search on as Parquet files, with what their metadata says. The layout is told in `searchable`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.errors import DataError, MissingExtraError, one_line
from secateur.tables.reading import read_table
from secateur.tables.table import UNSTATED, Table
from secateur.writing import whole

#: The key of a file's metadata.
METADATA = "secateur"
#: In the metadata: a digest of space and architectures, where these were checked.
CHECKED = "checked"


def read_parquet(path: Path) -> tuple[Table, dict[str, Any]]:
    """The table of a file, and what its metadata says. Raises DataError, MissingExtraError.

    `checked` in it becomes whether its architectures were found to be in their space and are still the same.
    """
    if not path.is_file():
        raise DataError(f"`{path}` does not exist. Give a table of evaluated architectures: a Parquet file.")
    said, lists = _schema(path)
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
        found = pyarrow.table(_columns(rows))
    else:
        found = pyarrow.Table.from_pylist([{**row, "architecture": row["architecture"].to_json()} for row in rows])
    if checked:
        architectures = rows.architectures if isinstance(rows, Table) else [row["architecture"] for row in rows]
        said = {**said, CHECKED: _mark(said, architectures)}
    found = found.replace_schema_metadata({METADATA: json.dumps(dict(said), ensure_ascii=False)})
    with whole(path) as draft:
        parquet.write_table(found, draft, compression="zstd")


def _columns(table: Table) -> dict[str, Any]:
    """What a table holds, by the names of the file's columns."""
    lists = {"budgets": table._grid, **table.curves} if table.curves else {}
    plain: dict[str, Any] = {"seed": table.seed} if table.seed.any() else {}
    if table.sources != [UNSTATED]:
        plain["source"] = table.source
    if table.seconds is not None:
        (lists if table.seconds.ndim == 2 else plain)["seconds"] = table.seconds
    texts = {a: a.to_json() for a in set(table.architectures)}
    columns = {"architecture": [texts[a] for a in table.architectures], **plain, **table.columns, **table.extra}
    return columns | {name: list(np.asarray(values)) for name, values in lists.items()}


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
