"""Tables from files: Parquet, CSV or JSON Lines, one row per trained or measured network."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import DataError
from secateur.paths import checked
from secateur.spaces.decoder_sizes import choices_fault
from secateur.tables.table import UNSTATED, Table
from secateur.tasks import files

if TYPE_CHECKING:
    import pandas


def read_trained(path: str | Path) -> Table:
    """A table of trained language models, with at least `architecture` (JSON) and `perplexity`.

    Where there: `source`, `seed`, `steps` and `curve` (the validation loss, nats per token, at those steps), `parameters`,
    `decoder_parameters`, `latency` and `train_seconds` in seconds, `memory` in bytes. Raises DataError with row and reason.
    """
    found = read_table(
        path,
        metrics=("perplexity",),
        numbers=("parameters", "decoder_parameters", "latency", "memory"),
        curves=("curve",),
        budgets="steps",
        seconds="train_seconds",
        geometric=("perplexity",),
    )
    for row, architecture in enumerate(found.architectures, 1):
        fault = choices_fault(dict(architecture.choices)) if architecture.space == "decoder" else None
        if fault is not None:
            raise DataError(f"`{path}`, row {row}: `architecture` is not a decoder language model: {fault}.")
    return found


def read_table(
    path: str | Path,
    *,
    metrics: Sequence[str] = (),
    numbers: Sequence[str] = (),
    curves: Sequence[str] = (),
    budgets: str = "budgets",
    seconds: str = "seconds",
    geometric: Sequence[str] = (),
) -> Table:
    """The table of a file that ends in .parquet, .csv, .jsonl or .json (the last three also .gz).

    `metrics`, what training gave, must be a number in every row (above 0 where `geometric`); `numbers`, which hold at every
    budget, and what `seconds` names must be numbers where given; `curves` and what `budgets` names lists of numbers, or JSON
    text of lists. `architecture`, `seed` and `source` are called so. Further columns are kept: as numbers at the end of
    training where all are numbers, else as `extra`. Raises DataError with the row and the reason.
    """
    path = checked(path, DataError)
    frame = _frame(path)
    given = {str(name): frame[name].tolist() for name in frame}
    missing = [f"`{name}`" for name in ("architecture", *metrics) if name not in given]
    if missing:
        raise DataError(f"`{path}` has no column {' and '.join(missing)}. Its columns: {', '.join(given)}.")

    def take(name: str, convert: Callable[[Any], Any], rule: str) -> list[Any]:
        return _converted(path, name, given.pop(name, [None] * len(frame)), convert, rule)

    wanted = dict.fromkeys((*metrics, *numbers, seconds, "seed"))
    columns = {name: np.array(take(name, _number, "a number")) for name in wanted}
    for name in metrics:
        bad = np.flatnonzero(~(columns[name] > (0 if name in geometric else -math.inf)))
        if len(bad):
            rule = "a finite number above 0" if name in geometric else "a finite number"
            raise DataError(
                f"`{path}`, row {bad[0] + 1}: `{name}` must be {rule}, got `{frame[name].iloc[bad[0]]}`. "
                "Leave out networks whose training failed."
            )
    spent, seeds = columns.pop(seconds), columns.pop("seed")
    decoded = lru_cache(maxsize=None)(Architecture.from_json)  # an architecture with several seeds has the same text
    architectures = take(
        "architecture",
        lambda value: decoded(value) if isinstance(value, str) else Architecture.from_dict(value),
        "the JSON of an Architecture (space, choices, key)",
    )
    lists = {name: take(name, _list, "a list of numbers") for name in (budgets, *curves)}
    rows = [UNSTATED if _blank(source) else str(source) for source in given.pop("source", [None] * len(frame))]
    further = {name: values for name, values in given.items() if all(_blank(v) or isinstance(v, int | float) for v in values)}
    return Table(
        architectures,
        columns | {name: np.array([_number(value) for value in values]) for name, values in further.items()},
        **_curves(path, budgets, lists),
        seconds=spent if np.isfinite(spent).any() else None,
        seed=np.nan_to_num(seeds),
        source=rows,
        extra={n: [None if _blank(v) else v for v in values] for n, values in given.items() if n not in further},
        final=(*metrics, *further),
        geometric=tuple(geometric),
        where=str(path),
    )


def _frame(path: Path) -> pandas.DataFrame:
    if not path.is_file():
        raise DataError(f"`{path}` does not exist. Give a table of trained architectures: Parquet, CSV or JSON Lines.")
    kind = next((s for s in reversed(path.suffixes) if s != ".gz"), "").lower()
    if kind not in (".parquet", ".csv", ".jsonl", ".json"):
        raise DataError(f"`{path}` must end in .parquet, .csv, .jsonl or .json, got `{path.suffix}`.")
    import pandas

    frame = files.read_table(path)
    if kind == ".csv":  # its fields are texts
        for name in frame:
            with suppress(ValueError, TypeError):
                frame[name] = pandas.to_numeric(frame[name])
    return frame


def _converted(path: Path, name: str, values: Sequence[Any], convert: Callable[[Any], Any], rule: str) -> list[Any]:
    found = []
    for row, value in enumerate(values, 1):
        try:
            found.append(convert(value))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"`{path}`, row {row}: `{name}` must be {rule}, got `{str(value)[:60]}`.") from error
    return found


def _curves(path: Path, budgets: str, lists: Mapping[str, list[list[float]]]) -> dict[str, Any]:
    """The budgets, (b,) where all rows have the same, and the curves (n, b), NaN behind a row's last."""
    for name, curve in lists.items():
        for row, (points, values) in enumerate(zip(lists[budgets], curve, strict=True), 1):
            if len(points) != len(values):
                raise DataError(
                    f"`{path}`, row {row}: `{budgets}` and `{name}` must have the same length, "
                    f"got {len(points)} and {len(values)}."
                )
    most = max(map(len, lists[budgets]))
    arrays = {name: np.array([v + [math.nan] * (most - len(v)) for v in values]) for name, values in lists.items()}
    grid = arrays.pop(budgets)
    bad = np.flatnonzero((np.diff(grid, axis=1) <= 0).any(axis=1))
    if len(bad):
        raise DataError(f"`{path}`, row {bad[0] + 1}: `{budgets}` must be ascending.")
    shared = all(row == lists[budgets][0] for row in lists[budgets])
    return {"budgets": grid[0] if shared else grid, "curves": arrays if most else {}}


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or (isinstance(value, str) and not value.strip())


def _number(value: Any) -> float:
    """A finite number, or NaN where there is none."""
    found = math.nan if _blank(value) else float(value)
    return found if math.isfinite(found) else math.nan


def _list(value: Any) -> list[float]:
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return list(value.tolist())
    if _blank(value):
        return []
    return [float(v) for v in (json.loads(value) if isinstance(value, str) else value)]
