"""Encodings in each part of a search that depends on one (White et al. 2020; Yan 2022, section 4.4), on NAS-Bench-201.

    python recipes/arch2vec/pretrain.py runs/arch2vec nb201-bound
    python recipes/cate/pretrain.py runs/cate nb201
    python recipes/arch2vec/subroutines.py runs/subroutines    # → subroutines.csv; goes on where it was stopped

Random draws, steps of local search and of evolution, and what predictors learn from: all encodings by hand, arch2vec and CATE.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import replace_rows  # noqa: E402

import secateur  # noqa: E402
from secateur.catalogue import names  # noqa: E402

LEARNT = ["runs/arch2vec/nb201-bound", "runs/cate/nb201"]
KEPT = ("subroutine", "searcher", "encoding", "queries", "seeds", "regret", "regret_error", "rank", "seconds")


def main(folder: str) -> None:
    for subroutine, seeds in (("sample", 200), ("perturb", 200), ("predict", 100)):
        found = secateur.bench_encodings(
            table=["nb201"],
            encoding=[*(name for name in names("encoding") if name != "graph"), *LEARNT],
            subroutine=[subroutine],
            seeds=seeds,
            to=Path(folder) / subroutine,
        )
        rows = [{name: row[name] for name in KEPT} for row in found.rows()]
        replace_rows(HERE / "subroutines.csv", rows, ("subroutine",))


if __name__ == "__main__":
    main(*sys.argv[1:])
