"""The tables of results beside this file: rows that are measured again take the place of the old ones."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table; none where there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def mean_ranks() -> dict[str, dict[str, float]]:
    """Family → its settings, the lowest mean rank over the data sets and numbers of queries first."""
    ranks: dict[str, dict[str, list[float]]] = {}
    for row in rows_of(HERE / "tuning.csv"):
        ranks.setdefault(row["family"], {}).setdefault(row["searcher"], []).append(float(row["rank"]))
    means = {family: {s: sum(r) / len(r) for s, r in several.items()} for family, several in ranks.items()}
    return {family: dict(sorted(several.items(), key=lambda found: found[1])) for family, several in means.items()}


def replace_rows(path: Path, rows: list[dict[str, Any]], by: tuple[str, ...]) -> None:
    """Write rows to a table, in the place of those that have the same values of some columns."""
    new = {tuple(str(row[name]) for name in by) for row in rows}
    kept = [row for row in rows_of(path) if tuple(row[name] for name in by) not in new]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)])
