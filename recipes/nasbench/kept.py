"""The tables of results beside this file: rows that are measured again take the place of the old ones."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any


def replace_rows(path: Path, rows: list[dict[str, Any]], by: tuple[str, ...]) -> None:
    """Write rows to a table, in the place of those that have the same values of some columns."""
    new = {tuple(str(row[name]) for name in by) for row in rows}
    kept: list[dict[str, Any]] = []
    if path.exists():
        with path.open() as file:
            kept = [row for row in csv.DictReader(file) if tuple(row[name] for name in by) not in new]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)])
