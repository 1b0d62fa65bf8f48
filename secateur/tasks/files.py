"""Tables and texts from disk: CSV, TSV, JSON-lines, Parquet and plain text, one file or a folder of splits."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import re
import warnings
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from secateur.errors import DataError, MissingExtraError, one_line

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
        raise DataError(f"`{path}` has an extension that is not known. Known: {known}, the text formats also with .gz.")
    return found


def find_splits(folder: Path) -> dict[str, list[Path]]:
    """The files of `folder` by split (train, validation, test); several only where they are shards of one split.

    Raises DataError where there is no training file, or where two files claim one split.
    """
    found: dict[str, dict[str, list[Path]]] = {split: {} for split in _SPLITS}
    readable = sorted(path for path in folder.iterdir() if path.is_file() and file_format(path) is not None)
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
            f"`{folder}` holds no training file (train.tsv, train.csv, train.jsonl, train.txt, …): there is {there}."
        )
    return splits


def read_table(path: Path, rows: int | None = None) -> pd.DataFrame:
    """The table in `path`, or its first `rows` rows. Fields of CSV and TSV are strings; a missing value is None or NaN.

    TSV is read without quoting, as GLUE's files are written. Raises DataError where the file is missing, empty or not valid.
    """
    kind = require_format(path)
    if not path.is_file():
        raise DataError(f"`{path}` is no file.")
    if kind == "text":
        raise DataError(f"`{path}` is plain text, which has no columns: give a CSV, TSV, JSON-lines or Parquet file.")
    if path.stat().st_size == 0:
        raise DataError(f"`{path}` is empty.")
    import pandas as pd

    try:
        if kind == "parquet":
            table = _read_parquet(path, rows)
        elif kind == "json":
            with _open(path) as file:
                table = pd.DataFrame(_records(path, file, rows), dtype=object)
        else:
            with _open(path) as file, warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header would lose their end
                table = pd.read_csv(
                    file,
                    sep="\t" if kind == "tsv" else ",",
                    quoting=csv.QUOTE_NONE if kind == "tsv" else csv.QUOTE_MINIMAL,
                    dtype=str,
                    keep_default_na=False,  # `null`, `None` and `NA` are words
                    na_values=[""],
                    index_col=False,
                    nrows=rows,
                )
    except UnicodeDecodeError as error:
        raise DataError(
            f"`{path}` is not UTF-8 text ({error.reason}). Convert it, for example: iconv -f latin1 -t utf-8."
        ) from None
    except pd.errors.EmptyDataError:
        raise DataError(f"`{path}` is empty.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _not_gzip(path, error) from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise DataError(f"`{path}` is not valid {kind.upper()}: {one_line(error)}.") from None
    if table.empty:
        raise DataError(f"`{path}` has no rows.")
    table.columns = [str(column) for column in table.columns]
    return table


def read_tables(paths: Sequence[Path]) -> pd.DataFrame:
    """The shards of one split, one below the other."""
    import pandas as pd

    tables = [read_table(path) for path in paths]
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def read_text(path: Path) -> str:
    """The whole of a plain-text file, also .gz: UTF-8, or UTF-16 with its byte-order mark. Raises DataError."""
    try:
        data = path.read_bytes()
        if path.suffix.lower() == ".gz":
            data = gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _not_gzip(path, error) from None
    except OSError as error:
        raise DataError(f"`{path}` cannot be read: {error.strerror or error}.") from None
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        text, reason = "\0", f"{error.reason} at byte {error.start:,}"
    else:
        reason = "it has zero bytes, as binary files do"
    if "\0" in text:
        raise DataError(
            f"`{path}` is in no known encoding: neither UTF-8 nor UTF-16 with its mark ({reason}). "
            "Convert it, for example: iconv -f latin1 -t utf-8."
        )
    if not text.strip():
        raise DataError(f"`{path}` is empty.")
    return text


def _open(path: Path) -> IO[str]:
    # utf-8-sig: spreadsheets begin their CSV with a byte-order mark, which would become part of the first column's name.
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _records(path: Path, file: IO[str], rows: int | None) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file, or of one JSON array of objects."""
    records: list[dict[str, Any]] = []
    lines = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    for number, line in lines:
        if not records and line.lstrip().startswith("["):
            return _array(path, line + "".join(file))[:rows]
        records.append(_record(path, number, line))
        if rows is not None and len(records) >= rows:
            break
    return records


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"`{path}` is not valid JSON-lines: line {number}: {error.msg}.") from None
    if not isinstance(record, dict):
        raise DataError(f"`{path}` is not valid JSON-lines: line {number} is no object {{…}}.")
    return record


def _array(path: Path, text: str) -> list[dict[str, Any]]:
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"`{path}` is not valid JSON: line {error.lineno}: {error.msg}.") from None
    if not all(isinstance(record, dict) for record in records):
        raise DataError(f"`{path}` is not a list of objects {{…}}: write one object per row.")
    return list(records)


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
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"`{path}` is not a valid Parquet file: {one_line(error)}.") from None


def _not_gzip(path: Path, error: BaseException) -> DataError:
    return DataError(f"`{path}` is not a valid .gz file: {one_line(error)}.")


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(sorted(f"`{path.name}`" for path in paths))
