"""The tables of results beside this file, and the settings that they speak for."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import filled, markdown, replace_rows, rows_of  # noqa: E402
from rows import mean_ranks as ranked  # noqa: E402

__all__ = ["HERE", "filled", "markdown", "mean_ranks", "replace_rows", "rows_of"]


def mean_ranks() -> dict[str, dict[str, float]]:
    """Family → its settings, the lowest mean rank over the data sets and numbers of queries first."""
    families: dict[str, list[dict[str, str]]] = {}
    for row in rows_of(HERE / "tuning.csv"):
        families.setdefault(row["family"], []).append(row)
    return {family: ranked(rows, lambda row: row["searcher"]) for family, rows in families.items()}
