"""NAS-Bench-101 as its authors publish it: `nasbench_full.tfrecord` or `nasbench_only108.tfrecord`.

A record is the JSON of [hash, epochs, matrix row by row, operations by commas, metrics], one per training. The metrics are the
base64 of a protocol buffer: field 1, three times, an evaluation (1 epoch, 2 seconds of training, 3 train, 4 validation and
5 test accuracy as shares, 6 a path), field 2 the trainable parameters, field 3 all seconds. The evaluations stand before
training, half-way and at its end: the last is read. A cell's trainings of a length are its seeds, from 0, in their order; those
of different lengths are trainings of their own, with their own schedule. Accuracies become percents.
"""

from __future__ import annotations

import base64
import binascii
import json
from array import array
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from secateur.errors import DataError
from secateur.spaces.cells.nasbench101 import NasBench101
from secateur.tables.nasbench.cells import agree, made, spelt
from secateur.tables.nasbench.csv_files import SAID_101
from secateur.tables.nasbench.records import fields, records
from secateur.tables.table import Table

SECONDS = "seconds"
#: What is read of an evaluation, by the fields of its message.
FIELDS = {SECONDS: 2, "train": 3, "validation": 4, "test": 5}
#: Evaluations of a training: before, half-way, at the end.
EVALUATIONS = 3


class _Training(NamedTuple):
    key: str
    epochs: int
    matrix: str
    ops: str
    parameters: int
    #: Of its last evaluation, in the order of `FIELDS`.
    last: list[float]


def read_records(path: Path) -> tuple[Table, dict[str, Any]]:
    """The table, and what its metadata would say. Raises DataError."""
    cells: dict[str, tuple[int, _Training]] = {}
    places, lengths, values = array("q"), array("q"), array("d")  # millions of trainings: lists would take gigabytes
    for number, text in enumerate(records(path), 1):
        try:
            training = _training(text)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"`{path}`, record {number}: it is not a training of NAS-Bench-101: {error}.") from error
        places.append(cells.setdefault(training.key, (len(cells), training))[0])
        lengths.append(training.epochs)
        values.extend(training.last)
    if not cells:
        raise DataError(f"`{path}` has no records.")
    first = [training for _, training in cells.values()]
    architectures = made(path, NasBench101(), (spelt(training.matrix, training.ops.split(",")) for training in first), "cell")
    agree(path, architectures, cells, "cell")
    each, epochs, seeds, last = _arranged(np.array(places), np.array(lengths), np.array(values).reshape(-1, len(FIELDS)))
    table = Table(
        [architectures[place] for place in each.tolist()],
        {"parameters": np.array([training.parameters for training in first], dtype=np.float64)[each]},
        {name: 100 * last[:, :, i] for i, name in enumerate(FIELDS) if name != SECONDS},
        epochs,
        seconds=last[:, :, list(FIELDS).index(SECONDS)],
        seed=seeds,
        where=str(path),
    )
    reported = [{"metric": name, "budget": int(epochs[-1])} for name in ("validation", "test")]
    about = f"NAS-Bench-101: accuracies on CIFAR-10 in percent after {', '.join(f'{e:g}' for e in epochs)} epochs"
    maximise = [name for name in FIELDS if name != SECONDS]
    return table, {**SAID_101, "maximise": maximise, "reported": reported, "about": about}


def _arranged(
    places: np.ndarray, lengths: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of trainings, given by the number of their cell (m,), their epochs (m,) and what they gave (m, k): a row per cell and
    seed. The cell (n,), the epochs there are (b,), the seed (n,), and the values (n, b, k), NaN where there was no training."""
    epochs, at = np.unique(lengths, return_inverse=True)
    order = np.lexsort((at, places))  # stable: those of a cell and length in the file's order
    groups = places[order] * len(epochs) + at[order]
    begin = np.flatnonzero(np.diff(groups, prepend=-1))
    seeds = np.empty(len(order), dtype=np.int64)
    seeds[order] = np.arange(len(order)) - np.repeat(begin, np.diff(begin, append=len(order)))
    most = int(seeds.max()) + 1
    rows, row = np.unique(places * most + seeds, return_inverse=True)
    found = np.full((len(rows), len(epochs), values.shape[1]), np.nan)
    found[row, at] = values
    return rows // most, epochs.astype(np.float64), rows % most, found


def _training(text: bytes) -> _Training:
    key, epochs, matrix, ops, metrics = json.loads(text)
    if not isinstance(epochs, int) or not all(isinstance(t, str) for t in (key, matrix, ops)):
        raise ValueError("a hash, a matrix and operations are texts, epochs a whole number")
    try:
        message = base64.b64decode(metrics, validate=False)
    except binascii.Error as error:
        raise ValueError(f"its metrics are not base64: {error}") from error
    evaluations: list[dict[int, Any]] = []
    parameters = 0
    for field, value in fields(message):
        if field == 1 and isinstance(value, bytes):
            evaluations.append(dict(fields(value)))
        elif field == 2 and isinstance(value, int):
            parameters = value
    if len(evaluations) != EVALUATIONS:
        raise ValueError(f"it has {len(evaluations)} evaluations, not {EVALUATIONS}")
    last = [float(evaluations[-1][number]) for number in FIELDS.values()]
    return _Training(key, epochs, matrix, ops, parameters, last)
