"""NAS-Bench-201 as its authors publish it: `NAS-Bench-201-v1_1-096897.pth`, or as a part of NATS-Bench
`NATS-tss-v1_0-3ffb9.pickle.pbz2`, or that as a folder, `NATS-tss-v1_0-3ffb9-simple`.

Either file is a dictionary: `meta_archs`, the strings of all cells, and `arch2infos`, by their numbers {schedule: results}, the
schedule `less` and `full` in the first (12 and 200 epochs), the number of epochs in the second. In the folder, `meta` has the
strings, and a file per cell its results. Results have `all_results`, {(data set, seed): training}, and a training `epochs`,
`params` and `flop` (millions), `latency` (seconds, a list or None), `train_acc1es` and `train_times` by epoch from 0, and
`eval_acc1es` and `eval_times` by `<part>@<epoch>`. Read are the accuracies in percent after the last epoch, as means over the
seeds, and the seconds as the benchmark's own clock counts them: those of a training on half of CIFAR-10 and of one validation.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from secateur.errors import DataError, one_line
from secateur.spaces.cells.nasbench201 import NasBench201
from secateur.tables.nasbench.cells import made
from secateur.tables.nasbench.csv_files import SAID_201
from secateur.tables.nasbench.plain_pickle import load_plain
from secateur.tables.table import Table

#: Curve → data set and part of it.
CURVES = {
    "cifar10_validation": ("cifar10-valid", "x-valid"),
    "cifar10_half_test": ("cifar10-valid", "ori-test"),
    "cifar10_test": ("cifar10", "ori-test"),
    "cifar10_train": ("cifar10", "train"),
    "cifar100_validation": ("cifar100", "x-valid"),
    "cifar100_test": ("cifar100", "x-test"),
    "imagenet16_validation": ("ImageNet16-120", "x-valid"),
    "imagenet16_test": ("ImageNet16-120", "x-test"),
}
#: The data set whose networks are counted and timed.
COUNTED = "cifar10-valid"
SCHEDULES = {"less": 12, "full": 200}
META, ENDING = "meta", ".pickle.pbz2"

Results = Mapping[str, Mapping[str, Any]]


def read_torch(path: Path) -> tuple[Table, dict[str, Any]]:
    """The table of NAS-Bench-201's own file, and what its metadata would say. Raises DataError."""
    import torch

    scalar = type(np.float64(0)).__reduce__(np.float64(0))[0]  # NumPy's numbers, under its old name and its new one
    numbers: list[Any] = [np.dtype, np.dtypes.Float64DType, scalar, (scalar, "numpy.core.multiarray.scalar")]
    try:
        with torch.serialization.safe_globals(numbers):
            found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle raises nearly anything, and torch says so on many lines
        raise DataError(f"`{path}` cannot be read: it is damaged, or holds more than plain values.") from error
    return _table(path, lambda: _all(found))


def read_nats(path: Path) -> tuple[Table, dict[str, Any]]:
    """The table of NATS-Bench's file or folder, and what its metadata would say. Raises DataError."""
    return _table(path, lambda: _folder(path) if path.is_dir() else _all(_plain(path)))


def _plain(path: Path) -> Any:
    try:
        with bz2.open(path) as file:
            return load_plain(file)
    except Exception as error:  # a damaged pickle raises nearly anything
        raise DataError(f"`{path}` cannot be read: {one_line(error) or 'it is damaged'}.") from error


def _all(found: Mapping[str, Any]) -> Iterator[tuple[str, Results]]:
    cells = found["meta_archs"]
    return ((cells[number], results) for number, results in sorted(found["arch2infos"].items()))


def _folder(path: Path) -> Iterator[tuple[str, Results]]:
    for number, cell in enumerate(_plain(path / f"{META}{ENDING}")["meta_archs"]):
        file = path / f"{number:06d}{ENDING}"
        if file.exists():
            yield cell, _plain(file)


def _table(path: Path, every: Callable[[], Iterator[tuple[str, Results]]]) -> tuple[Table, dict[str, Any]]:
    cells, rows = [], []
    try:
        for cell, results in every():
            cells.append(cell)
            rows.append({SCHEDULES.get(name) or int(name): _read(part) for name, part in results.items()})
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DataError(f"`{path}`, cell {len(cells)}: it is not laid out as NAS-Bench-201: {one_line(error)}.") from error
    if not rows:
        raise DataError(f"`{path}` has no results.")
    budgets = sorted({budget for row in rows for budget in row})
    last = [row[max(row)] for row in rows]

    def curve(name: str) -> np.ndarray:
        return np.array([[row.get(budget, {}).get(name, np.nan) for budget in budgets] for row in rows])

    seconds = curve("seconds")
    table = Table(
        made(path, NasBench201(merged=False), ({"cell": cell} for cell in cells), "cell"),
        {name: np.array([row.get(name, np.nan) for row in last]) for name in ("parameters", "flops", "latency")},
        {name: curve(name) for name in CURVES},
        np.array(budgets, dtype=np.float64),
        seconds=seconds if np.isfinite(seconds).any() else None,
        where=str(path),
    )
    return table, SAID_201


def _read(part: Mapping[str, Any]) -> dict[str, float]:
    """The means over the seeds of what is read of one cell and schedule."""
    found: dict[str, list[float]] = {}

    def note(name: str, value: Any) -> None:
        if value is not None:
            found.setdefault(name, []).append(float(value))

    for (data, _), training in part["all_results"].items():
        end = training["epochs"] - 1
        for name, (wanted, of) in CURVES.items():
            if data == wanted:
                accuracies, at = (training["train_acc1es"], end) if of == "train" else (training["eval_acc1es"], f"{of}@{end}")
                note(name, accuracies.get(at))
        if data == COUNTED:
            note("parameters", round(training["params"] * 1e6))
            note("flops", training["flop"] * 1e6)
            measured = training.get("latency")
            note("latency", sum(measured) / len(measured) if measured else None)
            note("seconds", _seconds(training))
    return {name: sum(values) / len(values) for name, values in found.items()}


def _seconds(training: Mapping[str, Any]) -> float | None:
    """A training and one validation, as an epoch's takes on average; None where it was not timed."""
    times, validations = training.get("train_times"), training.get("eval_times") or {}
    if not times:
        return None
    known = [validations[at] for epoch in range(training["epochs"]) if (at := f"x-valid@{epoch}") in validations]
    return float(sum(times.values()) + (sum(known) / len(known) if known else 0.0))
