"""Tables and texts from disk: CSV, TSV, JSON Lines, Parquet and plain text, one file or a folder of splits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from secateur.errors import DataError, MissingExtraError, one_line
from secateur.paths import reason, regular
from secateur.tasks.encoding import open_text
from secateur.tasks.rows import read_objects, read_separated

if TYPE_CHECKING:
    import pandas as pd

#: Extension → format. The text formats may also be compressed (.gz).
FORMATS: dict[str, str] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".txt": "text",
}

#: The file names, without extension and shard number, of each split of a folder.
_SPLITS: dict[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "validation": ("validation", "dev", "valid", "val", "eval", "evaluation", "dev_matched", "validation_matched"),
    "test": ("test", "test_matched"),
}


def file_format(path: Path) -> str | None:
    """The format that the file's name tells (`train.tsv.gz`: tsv), or None."""
    name = path.name.lower()
    plain = name.removesuffix(".gz")
    found = FORMATS.get(Path(plain).suffix)
    return None if found == "parquet" and plain != name else found


def require_format(path: Path) -> str:
    """The file's format; raises DataError for an extension that is not known."""
    found = file_format(path)
    if found is None:
        known = ", ".join(FORMATS)
        raise DataError(f"`{path}` has an unknown extension. Known: {known}; text formats may also end in .gz.")
    return found


def find_splits(folder: Path) -> dict[str, list[Path]]:
    """The files of `folder` by split (train, validation, test); several only where they are shards of one split.

    Raises DataError where there is no training file, or where two files claim one split.
    """
    found: dict[str, dict[str, list[Path]]] = {split: {} for split in _SPLITS}
    try:
        readable = sorted(path for path in folder.iterdir() if path.is_file() and file_format(path) is not None)
    except OSError as error:
        raise DataError(f"`{folder}` cannot be read: {reason(error)}.") from None
    for path in readable:
        plain = path.name.lower().removesuffix(".gz")
        stem = re.sub(r"-\d+-of-\d+$", "", Path(plain).stem)
        kind = stem if plain == stem + Path(plain).suffix else stem + "-"  # a whole file and shards of it are two claims
        for split, names in _SPLITS.items():
            if stem in names:
                found[split].setdefault(kind + Path(plain).suffix, []).append(path)
    splits: dict[str, list[Path]] = {}
    for split, claims in found.items():
        paths = [path for group in claims.values() for path in group]
        if len(claims) > 1 or (len(paths) > 1 and not all(re.search(r"-\d+-of-\d+", path.name) for path in paths)):
            raise DataError(f"`{folder}` has more than one file for {split}: {_listed(paths)}. Keep one.")
        if paths:
            splits[split] = paths
    if "train" not in splits:
        there = _listed(readable) if readable else "no file of a known format"
        raise DataError(
            f"`{folder}` contains no training file (train.tsv, train.csv, train.jsonl, train.txt, …): there is {there}."
        )
    return splits


def read_table(path: Path, rows: int | None = None) -> pd.DataFrame:
    """The table in `path`, or its first `rows` rows. Fields of CSV and TSV are strings; a missing value is None or NaN.

    A CSV's separator is told from its first lines and kept in `attrs`. Raises DataError where the file is missing, empty or
    not valid.
    """
    kind = require_format(path)
    if kind == "text":
        raise DataError(f"`{path}` is plain text, which has no columns: give a CSV, TSV, JSON Lines or Parquet file.")
    if not regular(path):
        raise DataError(f"`{path}` is not a file.")
    import pandas as pd

    separator = None
    if kind == "parquet":
        table = _read_parquet(path, rows)
    elif kind == "json":
        with open_text(path) as file:
            table = pd.DataFrame(read_objects(path, file, rows), dtype=object)
    else:
        with open_text(path) as file:
            header, found, separator = read_separated(path, file, kind, rows)
        if not header:
            raise DataError(f"`{path}` is empty.")
        table = pd.DataFrame(found, columns=header, dtype=object)
    table.columns = [str(column) for column in table.columns]
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise DataError(f"`{path}` has more than one column `{twice[0]}`. Rename or remove one of them.")
    if table.empty:
        raise DataError(f"`{path}` has no rows.")
    table.attrs["separator"] = separator
    return table


def read_tables(paths: Sequence[Path]) -> pd.DataFrame:
    """The shards of one split, one below the other."""
    import pandas as pd

    tables = [read_table(path) for path in paths]
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def read_text(path: Path) -> str:
    """The whole of a plain-text file, also .gz: UTF-8, UTF-16 or UTF-32. Raises DataError."""
    with open_text(path) as file:
        text = file.read()
    if not text.strip():
        raise DataError(f"`{path}` is empty.")
    return text


def _read_parquet(path: Path, rows: int | None) -> pd.DataFrame:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    try:
        if rows is None:
            table: pd.DataFrame = pyarrow.parquet.read_table(path).to_pandas()
            return table
        with pyarrow.parquet.ParquetFile(path) as file:
            first = next(file.iter_batches(batch_size=rows), None)
            table = pyarrow.Table.from_batches([] if first is None else [first], schema=file.schema_arrow).to_pandas()
            return table
    except Exception as error:  # pyarrow raises its own kinds, and those of what it calls
        raise DataError(f"`{path}` is not a valid Parquet file: {one_line(error)}.") from None


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(sorted(f"`{path.name}`" for path in paths))
