"""What searching cells takes: drawing and enumerating them, a suggestion of DNGO, and many searches on a table.

Targets: 1,000,000 DARTS networks drawn in 60 s; all 423,624 cells of NAS-Bench-101 with their keys in 120 s; a suggestion of
DNGO over the 15,625 cells of NAS-Bench-201 in 0.3 s; 200 local searches of 150 queries on a table of them in 20 s, by wall
clock, one process per core. The accuracies of the table are made up: speed does not depend on them.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
from measuring import Report, arguments, seconds, spread_of

import secateur
from secateur.encodings import Adjacency
from secateur.predictors.dngo import Dngo
from secateur.rng import generator
from secateur.spaces.cells import Darts, NasBench101, NasBench201
from secateur.tables.searchable import write_searchable


def main() -> None:
    given = arguments(__doc__ or "")
    report = Report(given.quick)

    drawn = 1_000 if given.quick else 1_000_000
    taken = seconds(lambda: [Darts().sample_many(drawn // 10, generator(given.seed, turn)) for turn in range(10)])
    report.add(f"{drawn:,} DARTS networks drawn ÷ 60 s", taken / 60, 1.0)

    # What an earlier run kept would be read from the user's cache folder.
    with tempfile.TemporaryDirectory() as scratch, patch.dict(os.environ, {"XDG_CACHE_HOME": scratch}):
        space = NasBench101(nodes="2..5") if given.quick else NasBench101()
        taken = seconds(lambda: [architecture.key for architecture in space.every()])
        report.add(f"{space.size():,} cells of NAS-Bench-101 with their keys ÷ 120 s", taken / 120, 1.0)

        cells = list(NasBench201(merged=False).every())[:: 100 if given.quick else 1]
        made_up = np.random.default_rng(given.seed).random(len(cells))
        inputs = Adjacency(NasBench201()).encode(cells)

        def suggest() -> None:
            fitted = Dngo().fit(inputs[:100], made_up[:100, None], waiting=inputs[:0], seed=given.seed)
            fitted.predict(inputs)

        times = [seconds(suggest) for _ in range(2 if given.quick else 7)]
        low, high = (value / 0.3 for value in spread_of(times))
        name = f"a suggestion of DNGO over {len(cells):,} cells ÷ 0.3 s"
        report.add(name, float(np.median(times)) / 0.3, 1.0, lowest=low, highest=high)

        rows = [{"architecture": cell, "accuracy": float(value)} for cell, value in zip(cells, made_up, strict=True)]
        said = {"space": "nasbench201", "options": {"merged": False}, "objectives": ["accuracy"], "maximise": ["accuracy"]}
        write_searchable(Path(scratch) / "cells.parquet", rows, said)
        seeds, queries = (3, 20) if given.quick else (200, 150)
        began = time.perf_counter()
        secateur.bench_search(
            table=[f"{scratch}/cells.parquet"], searcher=["local"], seeds=seeds, queries=queries, to=Path(scratch) / "found"
        )
        report.add(f"{seeds} local searches of {queries} queries ÷ 20 s", (time.perf_counter() - began) / 20, 1.0)
    report.end()


if __name__ == "__main__":
    main()
