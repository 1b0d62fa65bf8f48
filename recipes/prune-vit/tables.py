"""The table of README.md, from results.csv.

python tables.py           # prints it
python tables.py --write   # writes it into README.md
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from rows import markdown, rows_of, show  # noqa: E402

README, RESULTS = HERE / "README.md", HERE / "results.csv"
#: A row of the file → what the table calls it.
LEVELS = {"from scratch": "as trained from scratch", "100%": "unpruned, after the run"}
LEVELS |= {f"{share}%": f"≤ {share} %" for share in (20, 50, 70)}


def mean(rows: list[dict[str, str]], column: str) -> str:
    """In percent; nothing where a row has none."""
    values = [row[column] for row in rows]
    return f"{100 * sum(map(float, values)) / len(values):.1f}" if all(values) else ""


def results() -> str:
    """Accuracies at each size; means over seeds."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows_of(RESULTS):
        found.setdefault((row["data"], row["rate"]), []).append(row)
    lines = []
    for (data, rate), several in found.items():
        for level, name in LEVELS.items():
            rows = [row for row in several if row["level"] == level]
            networks = "; ".join(dict.fromkeys(row["network"] for row in rows if row["network"]))
            numbers = [mean(rows, column) for column in ("share", "validation", "shared", "test")]
            lines.append([data, rate, name, networks, *numbers, str(len(rows))])
    header = ["data", "learning rate", "layers' parameters", "network (seed by seed)", "kept, %", "valid."]
    return markdown([*header, "test, not polished", "test", "seeds"], lines)


TABLES = {"results": results}


if __name__ == "__main__":
    show(README, TABLES, __doc__)
