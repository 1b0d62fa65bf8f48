"""The files of published tables, told by what is in them."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.errors import DataError
from secateur.paths import reason, regular
from secateur.tables.nasbench import csv_files, official101, official201
from secateur.tables.table import Table

#: What can be read, in words.
KNOWN = "Parquet; NAS-Bench-101 as .tfrecord or CSV; NAS-Bench-201 as .pth, .pickle.pbz2 (NATS-Bench) or CSV"

Read = Callable[[Path], tuple[Table, dict[str, Any]]]


#: Files that their names tell.
ENDINGS: tuple[tuple[str, str, Read], ...] = (
    (".tfrecord", "nb101", official101.read_records),
    (".pth", "nb201", official201.read_torch),
    (official201.ENDING, "nb201", official201.read_nats),
)


@dataclass(frozen=True)
class Published:
    """A file of a published table: the name that it is known by, and how it is read with what its metadata would say."""

    path: Path
    name: str
    reader: Read

    def read(self) -> tuple[Table, dict[str, Any]]:
        """Raises DataError."""
        return self.reader(self.path)


def recognised(path: Path) -> Published:
    """The published table that a file holds. Raises DataError where it holds none that is known."""
    found = published(path)
    if found is None:
        raise DataError(f"`{path}` is not in a known format. Known: {KNOWN}.")
    return found


def published(path: Path) -> Published | None:
    """The published table that a file or folder holds, None where it is none that is known. Raises DataError for one that is
    missing or cannot be read."""
    if not path.exists():
        raise DataError(f"`{path}` does not exist.")
    if path.is_dir() and (path / f"{official201.META}{official201.ENDING}").is_file():
        return Published(path, "nb201", official201.read_nats)
    if not regular(path):
        return None
    for ending, name, reader in ENDINGS:
        if path.name.endswith(ending):
            return Published(path, name, reader)
    if path.name.endswith((".csv", ".csv.gz")):
        columns = _header(path)
        if columns >= csv_files.COLUMNS_201:
            return Published(path, "nb201", csv_files.read_201)
        if columns >= csv_files.COLUMNS_101:
            return Published(path, "nb101", csv_files.read_101)
    return None


def _header(path: Path) -> set[str]:
    try:
        with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
            return set(next(csv.reader(file), []))
    except (OSError, UnicodeError, EOFError, csv.Error, zlib.error) as error:
        raise DataError(f"`{path}` cannot be read: {reason(error)}.") from error
