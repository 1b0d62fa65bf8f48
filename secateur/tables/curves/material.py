"""What a surrogate learns from: the whole curves of a table, its architectures as vectors, and further columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from secateur.architecture import Architecture
from secateur.catalogue import find_encoding
from secateur.encodings import Encoding
from secateur.errors import ConfigurationError, DataError
from secateur.predictors.curves.known import Known
from secateur.spaces.base import Space
from secateur.spaces.pool import whole
from secateur.tables.searchable import Reported, SearchTable
from secateur.tables.table import Table

#: Encodings where none is asked for: the first that serves the space.
USUAL = ("adjacency", "vector")


@dataclass(frozen=True)
class Reading:
    """How trainings are read: `metrics` are the names of curves, `features` what is told beside the `encoding` of an
    architecture: columns, or curves at early budgets."""

    metrics: tuple[str, ...]
    encoding: str
    features: tuple[Reported, ...] = ()

    @classmethod
    def of(
        cls, table: SearchTable, metrics: Sequence[str] = (), encoding: str | None = None, features: Sequence[Reported] = ()
    ) -> Reading:
        """By default all curves of the table, in the usual encoding. Raises DataError for what is not there."""
        curves = tuple(table.table.curves)
        if not curves:
            raise DataError(f"`{table.name}` has no learning curves: it tells of each network what it was in the end only.")
        for name in metrics:
            if name not in curves:
                raise DataError(f"`{table.name}` has no curve `{name}`. Its curves: {', '.join(curves)}.")
        last = float(np.nanmax(table.table.budgets))
        for one in features:
            table.table.require(one.metric, one.budget)
            if one.budget is None or one.budget >= last:
                if one.metric in curves:
                    raise ConfigurationError(
                        f"the feature `{one}` is the end of a curve: give an early budget, as in {one.metric}@10."
                    )
                if one.metric in table.table.final:
                    raise ConfigurationError(f"the feature `{one}` is known at the end of a training only.")
        space = whole(table.space)
        named = encoding or usual_encoding(space)
        if "/" in named:  # of a trained one: found from any folder later
            named = str(Path(named).absolute())
        return cls(tuple(dict.fromkeys(metrics)) or curves, named, tuple(dict.fromkeys(features)))


def usual_encoding(space: Space) -> str:
    """The first of the usual encodings that serves a space."""
    return next(name for name in USUAL if find_encoding(name).refuses(space) is None)


def encoding_of(name: str, space: Space) -> Encoding:
    """An encoding of the whole of a space. Raises ConfigurationError where it cannot serve it."""
    found: Encoding = find_encoding(name)(whole(space))
    return found


def known_curves(table: SearchTable, reading: Reading) -> Known:
    """The trainings of a table, once each. Raises DataError where curves have gaps, differ in length, or lack a feature, and
    where one training has two of them."""
    check_whole(table.table, reading.metrics)
    rows = different(table.table, reading.metrics)
    inputs = inputs_of(encoding_of(reading.encoding, table.space), rows.architectures, features_of(rows, reading.features))
    curves = np.stack([rows.curves[name] for name in reading.metrics], axis=1)
    return Known(inputs, curves, reading.metrics, np.ravel(rows._grid[0]), rows.keys)


def different(table: Table, metrics: Sequence[str]) -> Table:
    """A row per training: one may stand under several sources. Raises DataError where rows of one network and seed differ."""
    first = np.array([table._by_seed[training] for training in zip(table.keys, table.seed.tolist(), strict=True)])
    for name in metrics:
        apart = np.flatnonzero((table.curves[name] != table.curves[name][first]).any(axis=1))
        if len(apart):
            row = int(apart[0])
            raise DataError(
                f"`{table.where}`: rows {first[row] + 1} and {row + 1} are of one network with one seed, {table.seed[row]}, "
                "and have different curves. Give each training of a network its own `seed`."
            )
    kept = np.unique(first)
    return table if len(kept) == len(table) else table.take(kept)


def check_whole(table: Table, metrics: Sequence[str]) -> None:
    """Raise DataError for curves that do not all have a number at the same budgets."""
    grid = table._grid
    ends = np.isfinite(grid).sum(axis=1)
    if len(set(ends.tolist())) > 1:
        least, most = int(ends.min()), int(ends.max())
        row = int(np.argmin(ends)) + 1
        raise DataError(
            f"`{table.where}`: curves must be equally long, and that of row {row} has {least} points where others have {most}. "
            "Leave shorter ones out, or cut longer ones."
        )
    others = ((grid != grid[:1]) & np.isfinite(grid)).any(axis=1)
    if others.any():
        row = int(np.argmax(others)) + 1
        raise DataError(f"`{table.where}`: all curves must have values at the same budgets; row {row} has others than row 1.")
    for name in metrics:
        gaps = np.argwhere(~np.isfinite(table.curves[name]))
        if len(gaps):
            row, place = gaps[0].tolist()
            raise DataError(
                f"`{table.where}`: the curve `{name}` of row {row + 1} has no number at budget {grid[row, place]:g}. Curves "
                "with gaps cannot be learnt from: leave such rows out."
            )


def features_of(table: Table, features: Sequence[Reported]) -> np.ndarray:
    """The features (n, f) of a table's trainings. Raises DataError where one is not known."""
    found = [table.column(one.metric, one.budget) for one in features]
    for one, values in zip(features, found, strict=True):
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
            raise DataError(f"`{table.where}`: the feature `{one}` of row {row} is not known.")
    return np.column_stack(found) if found else np.zeros((len(table), 0))


def inputs_of(encoding: Encoding, architectures: Sequence[Architecture], features: np.ndarray) -> np.ndarray:
    """What a model of curves learns from (n, d): vectors of architectures, each made once, then features."""
    places: dict[str, int] = {}
    different: list[Architecture] = []
    for architecture in architectures:
        if places.setdefault(architecture.key, len(different)) == len(different):
            different.append(architecture)
    vectors = encoding.encode(different)[[places[architecture.key] for architecture in architectures]]
    if len(features) != len(vectors):
        raise ConfigurationError(f"`features` must have {len(vectors)} rows, got {len(features)}.")
    return np.hstack([vectors, features])
