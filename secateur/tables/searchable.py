"""Tables to search on: networks of one space with the values that a search would be told, in a Parquet file.

A file has a row per network: `architecture` (the JSON of an Architecture: space, choices, key), and numbers such as `error`,
`parameters`, `body_parameters`, `macs` and `latency`, of which a search minimises some. Where networks were trained, there may
be `seed`, `seconds`, and curves over `budgets` (see `read_table`). Its key-value metadata has under `secateur` the JSON of

    {"space": "small", "shape": {"layers": 6, "heads": 12, "units": 1536}, "limits": {"units": ":128"},
     "objectives": ["error", "body_parameters"], "about": "what was trained on what"}

with the space by its name, for a pruning space the shape of the whole network, and the ranges that were searched, if any.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from secateur.catalogue import find
from secateur.errors import ConfigurationError, DataError, MissingExtraError, UnknownNameError
from secateur.paths import checked
from secateur.spaces.base import Space
from secateur.spaces.pool import Pool
from secateur.spaces.pruning import Shape
from secateur.tables.reading import read_table
from secateur.tables.table import Table
from secateur.writing import whole

#: The key of a file's metadata.
METADATA = "secateur"
#: Spaces of more points than this are not checked for being in a table whole.
MOST = 100_000


@dataclass(frozen=True)
class SearchTable:
    """A table with the space that it holds the networks of, or as many of them as it has (a Pool)."""

    name: str
    about: str
    table: Table
    space: Space
    objectives: tuple[str, ...]


def shipped() -> dict[str, Path]:
    """The tables that come with the package, by name."""
    folder = resources.files("secateur.tables") / "data"
    return {
        Path(str(file)).stem: Path(str(file)) for file in sorted(folder.iterdir(), key=str) if str(file).endswith(".parquet")
    }


def open_table(named: str) -> SearchTable:
    """A table that comes with the package, by name, or a Parquet file. Raises UnknownNameError, DataError."""
    known = shipped()
    if named in known:
        return read_searchable(known[named], named)
    if not named.endswith(".parquet"):
        raise UnknownNameError("table", named, known, "Or give a Parquet file.")
    path = checked(named, DataError)
    return read_searchable(path, path.stem)


def read_searchable(path: Path, name: str) -> SearchTable:
    """The table of a file, and its space. Raises DataError where the file does not say which, or has networks of another."""
    table = read_table(path)
    said = _metadata(path)
    try:
        space = space_of(said)
        objectives = tuple(map(str, said["objectives"]))
    except (KeyError, TypeError, ConfigurationError) as error:
        reason = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(
            f"`{path}` cannot be searched: its metadata `{METADATA}` does not describe a space: {reason}."
        ) from error
    foreign = next((a for a in table.architectures if not space.contains(a)), None)
    if foreign is not None:
        raise DataError(f"`{path}` cannot be searched: {foreign} is not in the space that its metadata describes.")
    missing = [name for name in objectives if name not in table.names]
    if missing:
        raise DataError(f"`{path}` has no column `{missing[0]}`, which its metadata names as an objective.")
    if space.size() > MOST or any(a.key not in table for a in space.every()):
        space = Pool(space, table.architectures)
    return SearchTable(name, str(said.get("about", "")), table, space, objectives)


def space_of(said: Mapping[str, Any]) -> Space:
    """The space that a table's metadata describes. Raises KeyError, TypeError, ConfigurationError."""
    shape = [Shape(**said["shape"])] if "shape" in said else []
    space: Space = find("space", said["space"])(*shape, **said.get("limits", {}))
    return space


def write_searchable(path: Path, rows: Sequence[Mapping[str, Any]], said: Mapping[str, Any]) -> None:
    """Write a table: rows with an `architecture` and numbers, and what its metadata says."""
    pyarrow, parquet = _pyarrow()
    plain = [{**row, "architecture": row["architecture"].to_json()} for row in rows]
    found = pyarrow.Table.from_pylist(plain).replace_schema_metadata({METADATA: json.dumps(dict(said), ensure_ascii=False)})
    with whole(path) as draft:
        parquet.write_table(found, draft, compression="zstd")


def _metadata(path: Path) -> dict[str, Any]:
    found = _pyarrow()[1].read_schema(path).metadata or {}
    try:
        said = json.loads(found.get(METADATA.encode(), b"{}"))
    except ValueError:
        said = {}
    return said if isinstance(said, dict) else {}


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    return pyarrow, pyarrow.parquet
