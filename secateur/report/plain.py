"""What a command found, for other programs: JSON and CSV. Numbers in full and in base units; what is no number is null.

A result has `rows()`, `as_dict()` or both: rows are flat, and what `as_dict` gives may hold more than they do.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from secateur.report.data import Row


def as_json(found: Any) -> str:
    """A result as JSON: an object, or a list of objects where it is rows."""
    whole = found.as_dict() if hasattr(found, "as_dict") else found.rows()
    return json.dumps(plain(whole), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def as_csv(found: Any) -> str:
    """A result as CSV, with a header: its rows, or the one row of what it holds. Lists are JSON in their cell."""
    rows = [flat(plain(row)) for row in (found.rows() if hasattr(found, "rows") else [found.as_dict()])]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    if rows:
        writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def plain(value: Any) -> Any:
    """The same as plain JSON: no NaN, no infinity, no types of other libraries."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # numpy's
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    return str(value) if isinstance(value, str) else value


def flat(row: Mapping[str, Any]) -> Row:
    """Nested names are joined: {"memory": {"peak": 1}} is {"memory_peak": 1}."""
    found: Row = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            found |= {f"{name}_{inner}": v for inner, v in flat(value).items()}
        else:
            found[name] = value
    return found


def _cell(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return json.dumps(value, ensure_ascii=False)
    return value
