"""The tables of results beside this file, and the settings that they speak for."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import filled, markdown, replace_rows, rows_of  # noqa: E402

__all__ = ["HERE", "filled", "markdown", "mean_ranks", "replace_rows", "rows_of"]


def mean_ranks() -> dict[str, dict[str, float]]:
    """Family → its settings, the lowest mean rank over the data sets and numbers of queries first."""
    ranks: dict[str, dict[str, list[float]]] = {}
    for row in rows_of(HERE / "tuning.csv"):
        ranks.setdefault(row["family"], {}).setdefault(row["searcher"], []).append(float(row["rank"]))
    means = {family: {s: sum(r) / len(r) for s, r in several.items()} for family, several in ranks.items()}
    return {family: dict(sorted(several.items(), key=lambda found: found[1])) for family, several in means.items()}
