"""The table of README.md, from measured.jsonl. Lines that a script printed take the place of its former ones.

python benchmarks/table.py                                                                 # print the table; a test keeps it
python benchmarks/building.py > building.out; python benchmarks/table.py building.out      # measure again first
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).with_name("measured.jsonl")
COLUMNS = ("name", "ratio", "target", "passed", "at_least", "standard_error", "lowest", "highest")
WHERE = ("script", "device", "torch", "transformers", "date")


def lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file that are results."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("{")]


def take(printed: Path, table: Path = MEASURED) -> None:
    """Replace what the table has of a script by what the script printed."""
    new = lines(printed)
    if any("quick" in line for line in new):
        raise SystemExit(f"{printed}: figures of --quick mean nothing.")
    kept = [line for line in lines(table) if line["script"] not in {line["script"] for line in new}]
    found = sorted(kept + new, key=lambda line: line["script"])
    table.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in found), encoding="utf-8")


def number(value: float) -> str:
    return f"{value:,.0f}" if isinstance(value, int) or value >= 100 else f"{value:#.3g}"


def row(line: dict[str, Any]) -> str:
    """A line of the table: its target, what was measured, its spread, and whatever else the script tells."""
    ratio, target = number(line["ratio"]), "–"
    if line["target"] is not None:
        ratio = f"**{ratio}**" if line["passed"] else f"**{ratio}, missed**"
        target = f"{'≥' if line['at_least'] else '≤'} {line['target']:g}"
    spread = [f"± {number(line['standard_error'])}"] if "standard_error" in line else []
    spread += [f"{number(line['lowest'])} to {number(line['highest'])}"] if "lowest" in line else []
    rest = [f"{k.replace('_', ' ')} {number(v)}" for k, v in line.items() if k not in (*COLUMNS, *WHERE)]
    return f"| {line['name']} | {target} | {ratio} | {', '.join(spread)} | {', '.join(rest)} | `{line['script']}.py` |"


def table(path: Path = MEASURED) -> str:
    found = lines(path)
    head = "| benchmark | target | measured | spread | beside | run |\n|---|---|---|---|---|---|"
    where = "; ".join(
        sorted({f"{r['device']}, torch {r['torch']}, transformers {r['transformers']}, {r['date']}" for r in found})
    )
    return "\n".join([f"Measured on {where}.", "", head, *map(row, found)])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        take(Path(name))
    print(table())
