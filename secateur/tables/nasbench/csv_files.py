"""NAS-Bench-101 and NAS-Bench-201 as CSV: a row per cell, means over the trainings.

Of NAS-Bench-201 the columns `arch` (the benchmark's string), `params_M` (millions of parameters) and accuracies in percent,
`<data set>_<part>_<epochs>`. Of NAS-Bench-101 `adj` (the matrix row by row), `ops` (labels by commas: 0 conv3x3, 1 conv1x1,
2 maxpool3x3, −1 input, −2 output), `key` (the benchmark's hash), `<epochs>_final_validation_accuracy` as shares,
`final_training_time` (seconds of the 108 epochs) and `trainable_parameters`. Accuracies become percents in both.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import DataError, one_line
from secateur.spaces.cells.nasbench101 import INPUT, OPERATIONS, OUTPUT, NasBench101
from secateur.spaces.cells.nasbench201 import NasBench201
from secateur.tables.nasbench.cells import agree, made, spelt
from secateur.tables.table import Table

if TYPE_CHECKING:
    import pandas

#: The curve of each column of NAS-Bench-201, and at how many epochs. `cifar10_half_test`: trained without the validation half.
CURVES_201 = {
    "c10_val_12": ("cifar10_validation", 12),
    "c10_valid_200": ("cifar10_validation", 200),
    "c10_test_12": ("cifar10_test", 12),
    "c10_test_200": ("cifar10_test", 200),
    "c10valid_test_200": ("cifar10_half_test", 200),
    "c10_train_200": ("cifar10_train", 200),
    "c100_val_12": ("cifar100_validation", 12),
    "c100_test_12": ("cifar100_test", 12),
    "c100_test_200": ("cifar100_test", 200),
    "in16_val_12": ("imagenet16_validation", 12),
    "in16_test_12": ("imagenet16_test", 12),
    "in16_test_200": ("imagenet16_test", 200),
}
#: The columns that tell the files.
COLUMNS_201 = {"arch", "params_M", *CURVES_201}
EPOCHS_101 = (4, 12, 36, 108)
ACCURACIES_101 = tuple(f"{epochs}_final_validation_accuracy" for epochs in EPOCHS_101)
COLUMNS_101 = {"key", "adj", "ops", "trainable_parameters", "final_training_time", *ACCURACIES_101}

SAID_201: dict[str, Any] = {
    "space": "nasbench201",
    "options": {"merged": False},
    "objectives": ["cifar10_validation"],
    "maximise": sorted({curve for curve, _ in CURVES_201.values()}),
    "budget": 12,
    "reported": [{"metric": "cifar10_validation", "budget": 200}, {"metric": "cifar10_test", "budget": 200}],
    "about": "NAS-Bench-201: accuracies in percent after 12 and 200 epochs",
}
SAID_101: dict[str, Any] = {
    "space": "nasbench101",
    "objectives": ["validation"],
    "maximise": ["validation"],
    "reported": [{"metric": "validation", "budget": 108}],
    "about": "NAS-Bench-101: accuracies on CIFAR-10 in percent after 4, 12, 36 and 108 epochs",
}
_LABELS = {"-1": INPUT, "-2": OUTPUT, **{str(label): name for label, name in enumerate(OPERATIONS)}}


def read_201(path: Path) -> tuple[Table, dict[str, Any]]:
    """The table, and what its metadata would say. Raises DataError."""
    frame = _frame(path, ["arch"])
    cells = made(path, NasBench201(merged=False), ({"cell": text} for text in frame["arch"]))
    curves: dict[str, np.ndarray] = {}
    budgets = [12, 200]
    for column, (name, epochs) in CURVES_201.items():
        curve = curves.setdefault(name, np.full((len(frame), len(budgets)), np.nan))
        curve[:, budgets.index(epochs)] = _numbers(path, frame, column)
    parameters = np.round(_numbers(path, frame, "params_M") * 1e6)
    return Table(cells, {"parameters": parameters}, curves, np.array(budgets), where=str(path)), SAID_201


def read_101(path: Path) -> tuple[Table, dict[str, Any]]:
    """The table, and what its metadata would say. Raises DataError."""
    frame = _frame(path, ["adj", "ops", "key"])
    cells = made(path, NasBench101(), map(_spelt, frame["adj"], frame["ops"]))
    agree(path, cells, frame["key"])
    validation = np.column_stack([100 * _numbers(path, frame, name) for name in ACCURACIES_101])
    table = Table(
        cells,
        {"parameters": _numbers(path, frame, "trainable_parameters")},
        {"validation": validation},
        np.array(EPOCHS_101),
        seconds=_numbers(path, frame, "final_training_time"),
        where=str(path),
    )
    return table, SAID_101


def _spelt(adjacency: str, labels: str) -> dict[str, Any]:
    return spelt(adjacency, [_LABELS.get(label, label) for label in labels.split(",")])


def _frame(path: Path, texts: list[str]) -> pandas.DataFrame:
    import pandas

    try:
        frame = pandas.read_csv(path, dtype=dict.fromkeys(texts, str), keep_default_na=False)
    except (OSError, ValueError, EOFError, UnicodeError) as error:
        raise DataError(f"`{path}` cannot be read: {one_line(error)}.") from error
    if frame.empty:
        raise DataError(f"`{path}` has no rows.")
    return frame


def _numbers(path: Path, frame: pandas.DataFrame, name: str) -> np.ndarray:
    import pandas

    found = pandas.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        raise DataError(f"`{path}`, row {bad[0] + 1}: `{name}` must be a number, got `{frame[name].iloc[bad[0]]}`.")
    return found
