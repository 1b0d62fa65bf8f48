"""How well the ends of our decoders' trainings are told from their beginnings.

    python recipes/nasbenchx11/extrapolators.py runs/extrapolators                             # → extrapolators.csv
    python recipes/nasbenchx11/extrapolators.py runs/extrapolators-tiny curves-shakespeare     # the same

Stopped, it goes on where it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kept import HERE, TABLE, replace_rows

import secateur

KEPT = (
    "extrapolator",
    "share",
    "train",
    "seeds",
    "test",
    "kendall",
    "kendall_error",
    "rmse",
    "within_1",
    "within_2",
    "seconds",
)


def main(folder: str, table: str = TABLE) -> None:
    # (wpm takes a third of a second for each curve)
    for names, seeds, train in ((["last", "svr", "gp"], 20, "20,50,100"), (["wpm"], 2, "20")):
        found = secateur.bench_extrapolators(
            table=[table], metric="loss", extrapolator=names, train=train, test=150, seeds=seeds, to=Path(folder)
        )
        rows = [{"table": table, **{name: row[name] for name in KEPT}} for row in found.rows()]
        replace_rows(HERE / "extrapolators.csv", rows, ("table", "extrapolator", "share", "train"))


if __name__ == "__main__":
    main(*sys.argv[1:])
