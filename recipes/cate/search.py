"""What the settings of CATE change in searches: cells of NAS-Bench-101 are chosen out of the 20,000 of a table.

    secateur bench import nb101_20k_multifidelity.csv.gz
    python recipes/cate/pretrain.py runs/cate
    python recipes/cate/search.py pool runs/cate-search       # → search.csv, pairs.csv
    python recipes/cate/search.py outside runs/cate-search    # cells with more edges than were trained on → outside.csv

In the pool a cell has 0.87 neighbours, so that nothing but choosing out of the whole makes sense there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows  # noqa: E402

import secateur  # noqa: E402
from secateur.spaces.cells import CateOutside  # noqa: E402
from secateur.tables.opening import open_table  # noqa: E402
from secateur.tables.searchable import write_searchable  # noqa: E402

POOL = ["adjacency", "runs/arch2vec/nb101-bound", "runs/cate/small-indirect", "runs/cate/small-direct"]
POOL += ["runs/cate/indirect", "runs/cate/direct"]
OUTSIDE = ["adjacency", "path", "runs/cate/arch2vec-inside", "runs/cate/inside"]
METRIC = "validation@108"


def pool(folder: Path) -> None:
    """DNGO with five cells per network, 60 queries, 200 seeds, by encoding; random search beside it."""
    found = secateur.bench_search(
        table=["nb101"],
        searcher=["random", *(f"dngo:{encoding}" for encoding in POOL)],
        seeds=200,
        queries=60,
        at="30,60",
        to=folder / "pool",
    )
    replace_rows(HERE / "search.csv", [_told(row) for row in found.rows()], ("searcher", "queries"))
    pairs = [{"measure": m, **pair.as_dict()} for m, them in found.pairs["nb101"].items() for pair in them]
    replace_rows(HERE / "pairs.csv", pairs, ("measure",))


def outside(folder: Path) -> None:
    """The same with the cells of the pool that lie outside of the space that encodings were trained on."""
    table, path = open_table("nb101"), folder / "cate-outside.parquet"
    space, column = CateOutside(), table.table.column("validation", 108)
    cells = zip(table.table.architectures, column.tolist(), strict=True)
    rows = [
        {"architecture": space.make(dict(cell.choices)), "validation": value}
        for cell, value in cells
        if len(cell["ops"]) == 6 and sum(map(sum, cell["matrix"])) >= 7  # type: ignore[arg-type]
    ]
    folder.mkdir(parents=True, exist_ok=True)
    said = {"space": "cate-outside", "options": {}, "objectives": ["validation"], "maximise": ["validation"], "checked": False}
    write_searchable(path, rows, said)
    found = secateur.bench_search(
        table=[str(path)],
        searcher=["random", *(f"dngo:{encoding}" for encoding in OUTSIDE)],
        seeds=200,
        queries=30,
        at="20,30",
        to=folder / "outside",
    )
    replace_rows(HERE / "outside.csv", [{"cells": len(rows), **_told(row)} for row in found.rows()], ("searcher", "queries"))


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    value = next(name for name in row if name in (METRIC, "validation"))
    told = {name: row[name] for name in ("searcher", "queries", "seeds")}
    told |= {"validation": row[value], "validation_error": row[f"{value}_error"]}
    return told | {name: row[name] for name in ("regret", "regret_error", "rank", "seconds")}


def main(what: str, folder: str) -> None:
    {"pool": pool, "outside": outside}[what](Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
