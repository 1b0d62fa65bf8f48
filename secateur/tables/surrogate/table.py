"""The surrogate as a table: a row for each of NAS-Bench-101's cells, predicted once and kept in a Parquet file.

The file has no `architecture`: its rows are all cells in the benchmark's order. Beside it lie the trees as LightGBM writes
them, as text. Accuracies and seconds are predictions; parameters are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur.errors import DataError
from secateur.spaces.cells.every_cell import EveryCell
from secateur.spaces.cells.nasbench101 import NasBench101
from secateur.spaces.cells.nasbench101_counts import parameters
from secateur.tables.surrogate.features import featured
from secateur.tables.surrogate.fitting import FOLDS, Trees, fit
from secateur.tables.table import Table

#: Cells that are predicted at a time.
CHUNK = 2**15


def surrogate(table: Table, space: NasBench101) -> tuple[Table, dict[str, Any], dict[str, Trees]]:
    """Fit on a table with the curve `validation` and seconds, and predict every cell of the space: the table of predictions,
    what its metadata says, and the trees. Raises DataError, MissingExtraError."""
    means = table.means
    known = featured([space.cell(a) for a in means.architectures])
    targets = {f"validation@{budget:g}": means.column("validation", budget) for budget in means.budgets.tolist()}
    if means.seconds is not None:
        targets["seconds"] = np.array([means.seconds_to(key) for key in means.keys], dtype=np.float64)
    for name, true in targets.items():
        if not np.isfinite(true).all():
            raise DataError(f"`{table.where}`: a surrogate needs `{name}` of all cells.")
    trees = {name: fit(known, true, accuracy=name != "seconds") for name, true in targets.items()}
    cells = list(space.cells())
    found: dict[str, list[np.ndarray]] = {name: [] for name in trees}
    for start in range(0, len(cells), CHUNK):
        features = featured(cells[start : start + CHUNK])
        for name, one in trees.items():
            found[name].append(one.predict(features).astype(np.float32))  # as the file has them
    values = {name: np.concatenate(parts) for name, parts in found.items()}
    seconds = values.pop("seconds", None)
    curve = np.column_stack(list(values.values()))
    counted = {"parameters": np.array([parameters(cell) for cell in cells], dtype=np.float64)}
    where = f"the surrogate of {table.where}"
    made = Table(EveryCell(space), counted, {"validation": curve}, means.budgets, seconds, where=where)
    quality = {name: {"kendall": one.kendall, "rmse": one.rmse} for name, one in trees.items()}
    told = ", ".join(f"{name} {one.kendall:.2f}" for name, one in trees.items())
    about = (
        f"a surrogate of NAS-Bench-101: accuracies in percent and seconds, predicted by trees that were fitted on "
        f"{len(means):,} cells (Kendall's τ on held-out cells, {FOLDS} folds: {told})"
    )
    said = {"space": "nasbench101", "objectives": ["validation"], "maximise": ["validation"], "every": True}
    last = float(means.budgets[-1])
    return made, {**said, "reported": [{"metric": "validation", "budget": last}], "quality": quality, "about": about}, trees
