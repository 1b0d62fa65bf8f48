"""Encodings under the three subroutines that depend on one (Yan 2022, figure 4.2), on NAS-Bench-201.

python recipes/cate/uses.py runs/cate-encodings    # → uses.csv
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows  # noqa: E402

import secateur  # noqa: E402

ENCODINGS = ["adjacency", "adjacency-categorical", "path", "path-truncated", "vector"]
ENCODINGS += ["runs/arch2vec/nb201-bound", "runs/arch2vec/nb201-d-vae", "runs/cate/nb201"]
KEPT = ("subroutine", "searcher", "encoding", "queries", "seeds", "cifar10_test@200", "regret", "regret_error", "rank")


def main(folder: str, seeds: str = "20") -> None:
    found = secateur.bench_encodings(
        table=["nb201"], encoding=ENCODINGS, seeds=int(seeds), queries=150, to=Path(folder), progress=False
    )
    rows = [{name: row[name] for name in KEPT} for row in found.rows()]
    replace_rows(HERE / "uses.csv", rows, ("searcher", "encoding"))


if __name__ == "__main__":
    main(*sys.argv[1:])
