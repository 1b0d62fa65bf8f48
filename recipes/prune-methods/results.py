"""The tables of README.md on polishing and on methods.

python results.py --add polish.jsonl methods.jsonl   # into polish.csv and methods.csv: what polish.py and preset.py wrote
python results.py                                    # the tables, from both
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SHARES = ("0.1", "0.2", "0.3", "0.5", "0.7")
TASKS = {"stsb": "STS-B", "mrpc": "MRPC", "sst2": "SST-2", "rte": "RTE"}
POLISH = ("model", "task", "seed", "candidates", "variants", "epochs", "learning_rate", "share", "used", "validation", "test")
METHODS = ("model", "method", "task", "seed", "share", "used", "validation", "test", "weights", "seconds")

Row = dict[str, str]


def polish_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of polish.py `try`."""
    said = row["settings"]
    own = {"epochs": said["polish_epochs"], "learning_rate": said["polish_learning_rate"]}
    return {**row, **own, "candidates": said["candidates"], "variants": said.get("variants", 0)}


def method_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of preset.py."""
    return {"model": "minilm", **row, "used": row.get("share_used")}


def add(paths: list[Path]) -> None:
    """Take rows into the tables; one that is there already is replaced."""
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    polished = [polish_row(row) for row in rows if "settings" in row]
    methods = [method_row(row) for row in rows if "method" in row and "failure" not in row]
    methods = [row for row in methods if row["polished"] or row["share"] == "unpruned"]
    for name, columns, key, new in (("polish", POLISH, 8, polished), ("methods", METHODS, 5, methods)):
        kept = {tuple(row[c] for c in columns[:key]): row for row in read(name)}
        for row in new:
            text = {column: _text(row.get(column)) for column in columns}
            kept[tuple(text[c] for c in columns[:key])] = text
        with (HERE / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept[k] for k in sorted(kept))


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def read(name: str) -> list[Row]:
    path = HERE / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def means(rows: list[Row], by: tuple[str, ...], value: str) -> dict[tuple[str, ...], dict[str, list[float]]]:
    """Groups of rows → share → values, one for each seed."""
    found: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row[value]:
            found[tuple(row[name] for name in by)][row["share"]].append(float(row[value]))
    return found


def polishing() -> str:
    """Validation scores after polishing, by settings."""
    lines = [
        "| task | seeds | contenders | variants | epochs | learning rate | 10 % | 20 % | 30 % | 50 % | 70 % |",
        "|---" * 11 + "|",
    ]
    names = ("task", "candidates", "variants", "epochs", "learning_rate")
    found = means(read("polish"), names, "validation")
    order = sorted(found, key=lambda key: (list(TASKS).index(key[0]), *map(float, key[1:])))
    for key in order:
        cells = [f"{np.mean(found[key][share]):.4f}" if found[key].get(share) else "–" for share in SHARES]
        task, candidates, variants, epochs, rate = key
        seeds = len(found[key][SHARES[0]])
        lines.append(f"| {TASKS[task]} | {seeds} | {candidates} | {variants} | {epochs} | {rate} | {' | '.join(cells)} |")
    return "\n".join(lines)


def methods() -> str:
    """Validation and test scores of each method at shares of the body's parameters."""
    lines = ["| task | method | seeds | scores | unpruned | 10 % | 20 % | 30 % | 50 % | 70 % |", "|---" * 10 + "|"]
    for score in ("validation", "test"):
        found = means(read("methods"), ("task", "method"), score)
        for task, method in sorted(found, key=lambda key: (list(TASKS).index(key[0]), key[1])):
            values = found[task, method]
            cells = [f"{np.mean(values[share]):.3f}" if values.get(share) else "–" for share in ("unpruned", *SHARES)]
            seeds = max(len(v) for v in values.values())
            lines.append(f"| {TASKS[task]} | {method} | {seeds} | {score} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", nargs="+", type=Path, default=[])
    args = parser.parse_args()
    if args.add:
        add(args.add)
    print(f"{polishing()}\n\n{methods()}")


if __name__ == "__main__":
    main()
