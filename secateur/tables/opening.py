"""Tables by name: those of the package, imported ones, files, and the folders of fitted surrogates."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from secateur.errors import ConfigurationError, DataError, UnknownNameError
from secateur.paths import checked
from secateur.spaces.cells.enumeration import cache_folder
from secateur.tables.curves.answering import open_surrogate
from secateur.tables.curves.surrogate import CARD
from secateur.tables.nasbench import published, recognised
from secateur.tables.searchable import SearchTable, read_searchable, searchable

#: Where imported tables are.
FOLDER = "SECATEUR_TABLES"


def shipped() -> dict[str, Path]:
    """The tables that come with the package, by name."""
    folder = resources.files("secateur.tables") / "data"
    return {
        Path(str(file)).stem: Path(str(file)) for file in sorted(folder.iterdir(), key=str) if str(file).endswith(".parquet")
    }


def tables_folder() -> Path:
    """Where imported tables are: what `SECATEUR_TABLES` names, by default `tables` in the user's cache folder."""
    named = os.environ.get(FOLDER, "")
    return Path(named).expanduser() if named else cache_folder() / "tables"


def open_table(named: str) -> SearchTable:
    """A table by name (it comes with the package, was imported, or lies in the folder of imported tables), of a Parquet file,
    of a file of a published table, or of the folder of a fitted surrogate. Raises UnknownNameError, DataError, StudyError."""
    known = shipped()
    if named in known:
        return read_searchable(known[named], named)
    if Path(named).name != named or "." in named:
        path = checked(named, DataError)
        if path.is_dir() and (path / CARD).is_file():
            return searchable(*open_surrogate(path), path.name)
        return read_searchable(path, path.stem) if path.suffix == ".parquet" else _published(path)
    files = sorted(tables_folder().iterdir()) if tables_folder().is_dir() else []
    imported = {path.stem: path for path in files if path.suffix == ".parquet"}
    if named in imported:
        return read_searchable(imported[named], named)
    others = {found.name: path for path in files if (found := published(path))}
    if named in others:
        return _published(others[named])
    hint = "Give a file, or the folder of a surrogate (./NAME); `secateur bench import FILE` keeps a published table (nb201)."
    raise UnknownNameError("table", named, {*known, *imported, *others}, hint)


def open_tables(named: Sequence[str]) -> list[SearchTable]:
    """Several tables to be compared, each once. Raises ConfigurationError where two have one name, and as `open_table`."""
    found = [open_table(name) for name in dict.fromkeys(named)]
    names = [table.name for table in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ConfigurationError(f"two of the tables are called `{twice[0]}`: give one of the files another name.")
    return found


def _published(path: Path) -> SearchTable:
    found = recognised(path)
    return searchable(*found.read(), found.name)
