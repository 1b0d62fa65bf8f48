"""Rows of text files: separated values and JSON Lines, with the line named where one is not as it should be."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from secateur.errors import DataError, one_line

#: What may separate the fields of a CSV file; the comma wins where it can.
SEPARATORS = ",;\t|"
#: Lines that are looked at to tell the separator.
_LOOK = 50


def read_separated(path: Path, file: IO[str], kind: str, rows: int | None) -> tuple[list[str], list[list[str | None]], str]:
    """Header, rows and separator of a CSV or TSV file. An empty field is None. TSV is read without quoting, as GLUE's is."""
    with _long_fields():
        return _read_separated(path, file, kind, rows)


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    """Within the context a field may have any length: a document may be one."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read_separated(path: Path, file: IO[str], kind: str, rows: int | None) -> tuple[list[str], list[list[str | None]], str]:
    head = list(itertools.islice(file, _LOOK))
    lines: Iterator[str] = itertools.chain(head, file)
    if kind == "tsv":
        separator, quoting = "\t", csv.QUOTE_NONE
    else:
        said = re.fullmatch(r"sep=(.)\s*", head[0]) if head else None  # a spreadsheet's own way to say it
        separator, quoting = said[1] if said else _separator(head), csv.QUOTE_MINIMAL
        if said:
            next(lines)
    reader = csv.reader(lines, delimiter=separator, quoting=quoting, strict=kind == "csv")  # type: ignore[arg-type]
    records = _records(path, reader, kind)
    header = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(next(records, []))]
    found = []
    for record in itertools.islice(records, rows):
        if len(record) != len(header):
            if len(record) == 1 and not record[0].strip():
                continue
            fields = f"{len(record)} field{'s' * (len(record) > 1)}"
            raise _invalid(path, kind, f"line {reader.line_num} has {fields}, and the header names {len(header)}")
        found.append([field or None for field in record])
    return header, found, separator


def _records(path: Path, reader: Any, kind: str) -> Iterator[list[str]]:
    """The records that are not blank; an error says where the record begins that is broken."""
    while True:
        begun = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _invalid(path, kind, _quoting(error, begun, reader.line_num)) from None
        if record:
            yield record


def _quoting(error: csv.Error, begun: int, reached: int) -> str:
    """What is wrong with the quotes of the record between two lines."""
    if "unexpected end" in str(error):
        return f"a quote that is opened in line {begun} is never closed. Close it, or double quotes inside text"
    if "expected after" in str(error):
        ends = "" if begun == reached else f" and closed in line {reached}"
        return f"a quote that is opened in line {begun}{ends} does not end its field. Close it, or double quotes inside text"
    return f"line {reached}: {one_line(error)}"


def _separator(lines: list[str]) -> str:
    """The comma, or the one other separator by which the header and all rows that were looked at have as many fields."""
    fitting = [mark for mark in SEPARATORS if _fits(lines, mark)]
    return fitting[0] if fitting[:1] == [","] or len(fitting) == 1 else ","


def _fits(lines: list[str], mark: str) -> bool:
    counts = []
    try:
        for record in csv.reader(lines, delimiter=mark, strict=True):
            counts += [len(record)] if record else []
    except csv.Error as error:
        if len(lines) < _LOOK or "unexpected end" not in str(error):  # a field that goes on behind these lines is no fault
            return False
    return bool(counts) and counts[0] > 1 and len(set(counts)) == 1


def read_objects(path: Path, file: IO[str], rows: int | None) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file, or of one JSON array of objects."""
    records: list[dict[str, Any]] = []
    lines = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    for number, line in lines:
        if not records and line.lstrip().startswith("["):
            return _array(path, line + "".join(file))[:rows]
        found = _json(path, "JSON Lines", line, number)
        if not isinstance(found, dict):
            raise _invalid(path, "JSON Lines", f"line {number} is not an object {{…}}")
        records.append(found)
        if rows is not None and len(records) >= rows:
            break
    return records


def _array(path: Path, text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _json(path, "JSON", text)
    if not all(isinstance(record, dict) for record in found):
        raise DataError(f"`{path}` is not a list of objects {{…}}: write one object per row.")
    return found


def _json(path: Path, kind: str, text: str, line: int = 0) -> Any:
    try:
        found = json.loads(text, object_pairs_hook=_object)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end].encode("unicode_escape").decode()
        raise _invalid(path, kind, f"{f'line {line} ' if line else 'it '}has half a character (`{half}` alone)") from None
    except json.JSONDecodeError as error:
        raise _invalid(path, kind, f"line {line or error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a name twice, a number of thousands of digits, lists in lists in lists
        raise _invalid(path, kind, f"{f'line {line}: ' if line else ''}{one_line(error)}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise ValueError(f"an object has the key `{twice}` twice")
    return found


def _invalid(path: Path, kind: str, why: str) -> DataError:
    return DataError(f"`{path}` is not valid {kind.upper() if kind in ('csv', 'tsv') else kind}: {why}.")
