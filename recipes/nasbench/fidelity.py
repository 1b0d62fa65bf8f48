"""Trainings that stop early against whole ones, at equal simulated time, on a surrogate of NAS-Bench-101.

    secateur bench import nb101_20k_multifidelity.csv.gz --surrogate
    python recipes/nasbench/fidelity.py runs/nb101 [fidelity …]    # → fidelity.csv, fidelity-fronts.csv

All answers are the surrogate's. Trials at 4, 12, 36 and 108 epochs take the simulated seconds of as many epochs; one that goes
on takes the difference.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kept import HERE, replace_rows

import secateur

TABLE = "nb101-surrogate"
WHOLE = ["random", "local", "mo-rea:20/10"]
EARLY = ["successive-halving", "hyperband", "bohb", "mo-asha"]
SECONDS, AT = 300_000, "10000,30000,100000,300000"
SEEDS = 200


#: Table of results → who searches for what: one objective, and accuracy with parameters.
ASKED = {
    "fidelity": ([*WHOLE, *EARLY], ["validation"]),
    "fidelity-fronts": ([*WHOLE, "mo-asha"], ["validation", "parameters"]),
}


def main(folder: str, *names: str) -> None:
    for name in names or ASKED:
        searchers, objectives = ASKED[name]
        found = secateur.bench_search(
            table=[TABLE],
            searcher=searchers,
            objective=objectives,
            seeds=SEEDS,
            seconds=SECONDS,
            at=AT,
            to=Path(folder) / name,
        )
        replace_rows(HERE / f"{name}.csv", [_told(row) for row in found.rows()], ("searcher",))


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    measures = [name for name in row if name in ("validation@108", "hypervolume", "regret")]
    errors = [f"{name}_error" for name in measures]
    return {name: row[name] for name in ("searcher", "simulated_seconds", "seeds", *measures, *errors, "rank")}


if __name__ == "__main__":
    main(*sys.argv[1:])
