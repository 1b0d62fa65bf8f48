"""What encodings are worth in the three parts of a search that depend on one (White et al. 2020), on NAS-Bench-201.

    secateur bench import nb201_15625.csv.gz
    python recipes/arch2vec/pretrain.py runs/arch2vec nb201-bound
    python recipes/cate/pretrain.py runs/cate nb201-small
    python recipes/arch2vec/subroutines.py runs/subroutines [sample perturb predict]    # → subroutines.csv

Searches end with the best cell: what is told of them is the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows  # noqa: E402

import secateur  # noqa: E402

ENCODINGS = ["adjacency", "adjacency-categorical", "adjacency-continuous", "path", "path-categorical", "path-continuous"]
ENCODINGS += ["path-truncated", "vector", "runs/arch2vec/nb201-bound", "runs/cate/nb201-small"]
#: Part of a search → seeds: what fits models takes by far the longest.
SEEDS = {"sample": 200, "perturb": 200, "predict": 20}
KEPT = ("subroutine", "searcher", "encoding", "queries", "seeds", "regret", "regret_error", "rank", "seconds")


def main(folder: str, *parts: str) -> None:
    for part in parts or SEEDS:
        found = secateur.bench_encodings(
            table=["nb201"],
            encoding=ENCODINGS,
            subroutine=[part],
            seeds=SEEDS[part],
            queries=150,
            until_best=True,
            to=Path(folder) / part,
        )
        rows = [{name: row[name] for name in KEPT} for row in found.rows()]
        replace_rows(HERE / "subroutines.csv", rows, ("subroutine",))


if __name__ == "__main__":
    main(*sys.argv[1:])
