"""Every compressor × regressor × noise on a table of our trained decoders (Yan 2022, table 5.3).

    python recipes/nasbenchx11/surrogates.py runs/surrogates                              # → surrogates.csv
    python recipes/nasbenchx11/surrogates.py runs/surrogates-tiny curves-shakespeare      # the same

Stopped, it goes on where it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kept import HERE, TABLE, replace_rows

import secateur

#: The text's three models of noise, and ours.
NOISES = ["kde", "deviation", "window", "seeds"]
KEPT = ("compressor", "regressor", "noise", "networks", "repeated", "components")
KEPT += ("r2", "r2_final", "kendall", "kendall_final", "kl", "kl_final", "within", "within_final")


def main(folder: str, table: str = TABLE) -> None:
    found = secateur.bench_surrogate_evaluate(table, metric=["loss"], noise=NOISES, to=Path(folder))
    rows = [{"table": table, **{name: row[name] for name in KEPT}} for row in found.rows()]
    replace_rows(HERE / "surrogates.csv", rows, ("table", "compressor", "regressor", "noise"))


if __name__ == "__main__":
    main(*sys.argv[1:])
