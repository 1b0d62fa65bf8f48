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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from secateur.errors import DataError
from secateur.spaces.cells.nasbench101 import NasBench101
from secateur.tables.nasbench.cells import agree, made
from secateur.tables.nasbench.csv_files import SAID_101
from secateur.tables.nasbench.records import fields, records
from secateur.tables.table import Table

#: Fields of an evaluation.
SECONDS, CURVES = 2, {"train": 3, "validation": 4, "test": 5}
#: Evaluations of a training: before, half-way, at the end.
EVALUATIONS = 3


class _Training(NamedTuple):
    key: str
    epochs: int
    matrix: str
    ops: str
    parameters: int
    last: dict[int, Any]


def read_records(path: Path) -> tuple[Table, dict[str, Any]]:
    """The table, and what its metadata would say. Raises DataError."""
    cells: dict[str, _Training] = {}
    found: dict[str, dict[int, list[dict[int, Any]]]] = {}
    for number, text in enumerate(records(path), 1):
        try:
            training = _training(text)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"`{path}`, record {number}: it is not a training of NAS-Bench-101: {error}.") from error
        cells.setdefault(training.key, training)
        found.setdefault(training.key, {}).setdefault(training.epochs, []).append(training.last)
    if not cells:
        raise DataError(f"`{path}` has no records.")
    architectures = made(path, NasBench101(), map(_spelt, cells.values()))
    agree(path, architectures, cells)
    epochs = sorted({length for lengths in found.values() for length in lengths})
    seeds = [max(map(len, lengths.values())) for lengths in found.values()]
    rows = [(key, seed) for key, count in zip(found, seeds, strict=True) for seed in range(count)]
    nothing: dict[int, Any] = {}
    last = [[(found[k].get(e, [])[s : s + 1] or [nothing])[0] for e in epochs] for k, s in rows]
    curves = {name: 100 * _array(last, field) for name, field in CURVES.items()}
    each = np.repeat(np.arange(len(cells)), seeds).tolist()
    parameters = np.array([training.parameters for training in cells.values()], dtype=np.float64)[each]
    table = Table(
        [architectures[i] for i in each],
        {"parameters": parameters},
        curves,
        np.array(epochs, dtype=np.float64),
        seconds=_array(last, SECONDS),
        seed=[seed for _, seed in rows],
        where=str(path),
    )
    reported = [{"metric": name, "budget": epochs[-1]} for name in ("validation", "test")]
    about = f"NAS-Bench-101: accuracies on CIFAR-10 in percent after {', '.join(map(str, epochs))} epochs"
    return table, {**SAID_101, "maximise": sorted(CURVES), "reported": reported, "about": about}


def _training(text: bytes) -> _Training:
    key, epochs, matrix, ops, metrics = json.loads(text)
    if not isinstance(epochs, int) or not all(isinstance(t, str) for t in (key, matrix, ops)):
        raise ValueError("a hash, a matrix and operations are texts, epochs a whole number")
    try:
        message = base64.b64decode(metrics, validate=False)
    except binascii.Error as error:
        raise ValueError(f"its metrics are not base64: {error}") from error
    evaluations, parameters = [], 0
    for field, value in fields(message):
        if field == 1 and isinstance(value, bytes):
            evaluations.append(dict(fields(value)))
        elif field == 2 and isinstance(value, int):
            parameters = value
    if len(evaluations) != EVALUATIONS:
        raise ValueError(f"it has {len(evaluations)} evaluations, not {EVALUATIONS}")
    return _Training(key, epochs, matrix, ops, parameters, evaluations[-1])


def _spelt(training: _Training) -> dict[str, Any]:
    ops = training.ops.split(",")
    bits = [int(bit) if bit in "01" else bit for bit in training.matrix]
    return {"matrix": [bits[i : i + len(ops)] for i in range(0, len(bits), len(ops))], "ops": ops}


def _array(rows: list[list[dict[int, Any]]], field: int) -> np.ndarray:
    return np.array([[evaluation.get(field, np.nan) for evaluation in row] for row in rows], dtype=np.float64)
