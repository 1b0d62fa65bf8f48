"""A table of trained architectures: what full training gave, with learning curves. The ground truth for proxies."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import DataError, MissingExtraError
from secateur.tables.ranking import kendall, spearman

#: Columns that a table must have; all others may be left out.
REQUIRED = ("architecture", "perplexity")
#: The names that the project's own tables give to where their architectures come from; others are welcome.
SOURCES = ("random", "homogeneous", "search", "topology", "baseline")
UNSTATED = "unstated"

_NUMBERS = ("parameters", "decoder_parameters", "latency", "memory", "train_seconds")
_COLUMNS = (*REQUIRED, "source", "seed", "steps", "curve", *_NUMBERS)


@dataclass(frozen=True)
class Trained:
    """One trained network.

    `perplexity` is the final one on validation data, `curve` the validation loss (nats per token) at `steps`. `latency` and
    `train_seconds` are in seconds, `memory` in bytes. `extra` holds the further columns of the table.
    """

    architecture: Architecture
    perplexity: float
    source: str = UNSTATED
    seed: int = 0
    steps: tuple[int, ...] = ()
    curve: tuple[float, ...] = ()
    parameters: float | None = None
    decoder_parameters: float | None = None
    latency: float | None = None
    memory: float | None = None
    train_seconds: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return self.architecture.key

    def loss_at(self, share: float) -> float | None:
        """The validation loss after `share` of the steps, on a straight line between the recorded steps around it.

        None where the curve starts later: nothing is extrapolated.
        """
        if not self.steps:
            return None
        step = share * self.steps[-1]
        if step < self.steps[0]:
            return None
        value = float(np.interp(step, self.steps, self.curve))
        return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Ceiling:
    """How well one training ranks as another with a new seed does: no proxy can be expected to agree better with either.

    Rank correlations over the `pairs` architectures that were trained twice, None where they are too few.
    """

    pairs: int
    spearman: float | None
    kendall: float | None


@dataclass(frozen=True)
class TrainedTable:
    """Rows in the order of the file; an architecture that was trained with several seeds has several."""

    rows: tuple[Trained, ...]
    where: str = "the table"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Trained]:
        return iter(self.rows)

    @property
    def sources(self) -> list[str]:
        return sorted({row.source for row in self.rows})

    def only(self, sources: str | Iterable[str]) -> TrainedTable:
        """The rows of these sources. Raises DataError for one that the table does not have."""
        wanted = [sources] if isinstance(sources, str) else list(sources)
        unknown = [source for source in wanted if source not in self.sources]
        if unknown:
            raise DataError(f"`{self.where}` has no rows of source `{unknown[0]}`; it has: {', '.join(self.sources)}.")
        return replace(self, rows=tuple(row for row in self.rows if row.source in wanted))

    def averaged(self) -> list[Trained]:
        """One row per architecture, in order of first appearance: numbers are means over its trainings.

        Perplexities are averaged as losses (their logarithms), curves where the trainings recorded the same steps; else
        the first training's curve stands.
        """
        return [_mean(rows) for rows in self._by_architecture().values()]

    def repeats(self) -> list[tuple[Trained, Trained]]:
        """The first two trainings of every architecture that has more than one."""
        return [(rows[0], rows[1]) for rows in self._by_architecture().values() if len(rows) > 1]

    def ceiling(self) -> Ceiling:
        """The agreement between the first two trainings of the architectures that were trained more than once."""
        pairs = self.repeats()
        first = np.array([a.perplexity for a, _ in pairs])
        second = -np.array([b.perplexity for _, b in pairs])
        return Ceiling(len(pairs), spearman(first, second), kendall(first, second))

    def _by_architecture(self) -> dict[str, list[Trained]]:
        """The trainings of each architecture; one that stands under several sources is one training."""
        grouped: dict[str, dict[int, Trained]] = {}
        for row in self.rows:
            grouped.setdefault(row.key, {}).setdefault(row.seed, row)
        return {key: list(rows.values()) for key, rows in grouped.items()}


def read_trained(path: str | Path) -> TrainedTable:
    """The table of a Parquet, CSV or JSON-lines file (.parquet, .csv, .jsonl, .json; the last three may be gzipped).

    One row per trained network: `architecture` (JSON), `perplexity`; where there, also `source`, `seed`, `steps` and `curve`
    (lists, or JSON text of lists), `parameters`, `decoder_parameters`, `latency`, `memory`, `train_seconds`. Further columns
    are kept. Raises DataError with the row and the reason.
    """
    path = Path(path)
    records = _records(path)
    if not records:
        raise DataError(f"`{path}` is empty: a table of trained architectures needs at least one row.")
    there = list(dict.fromkeys(name for record in records for name in record))
    missing = [name for name in REQUIRED if name not in there]
    if missing:
        named = " and ".join(f"`{name}`" for name in missing)
        raise DataError(f"`{path}` has no column {named}. Its columns: {', '.join(there)}.")
    return TrainedTable(tuple(_row(record, f"`{path}`, row {i}") for i, record in enumerate(records, 1)), str(path))


def _records(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise DataError(f"`{path}` does not exist. Give a table of trained architectures: Parquet, CSV or JSON-lines.")
    kind = next((s for s in reversed(path.suffixes) if s != ".gz"), "").lower()
    if kind not in (".parquet", ".csv", ".jsonl", ".json"):
        raise DataError(f"`{path}` must end in .parquet, .csv, .jsonl or .json, got `{path.suffix}`.")
    import pandas

    try:
        if kind == ".parquet":
            frame = pandas.read_parquet(path)
        elif kind == ".csv":
            frame = pandas.read_csv(path, keep_default_na=False, na_values=[""])
        else:
            frame = pandas.DataFrame(_json_lines(path))
    except pandas.errors.EmptyDataError:
        return []
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    except (ValueError, OSError, EOFError, zlib.error) as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise DataError(f"`{path}` cannot be read: {reason}") from error
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict(orient="records")]


def _json_lines(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError(f"line {number} is no JSON object")
            records.append(record)
    return records


def _row(record: Mapping[str, Any], where: str) -> Trained:
    architecture = _architecture(record["architecture"], where)
    perplexity = _number(record["perplexity"], "perplexity", where)
    if perplexity is None or perplexity <= 0:
        raise DataError(
            f"{where}: `perplexity` must be a finite number above 0, got `{record['perplexity']}`. "
            "Leave out networks whose training failed."
        )
    steps = [int(s) for s in _list(record.get("steps"), "steps", where)]
    curve = _list(record.get("curve"), "curve", where)
    if len(steps) != len(curve):
        raise DataError(f"{where}: `steps` and `curve` must be as long as each other, got {len(steps)} and {len(curve)}.")
    if any(b <= a for a, b in pairwise(steps)):
        raise DataError(f"{where}: `steps` must rise.")
    seed = _number(record.get("seed"), "seed", where)
    return Trained(
        architecture,
        perplexity,
        source=UNSTATED if _blank(record.get("source")) else str(record["source"]),
        seed=int(seed or 0),
        steps=tuple(steps),
        curve=tuple(curve),
        extra={name: value for name, value in record.items() if name not in _COLUMNS and not _blank(value)},
        **{name: _number(record.get(name), name, where) for name in _NUMBERS},
    )


def _architecture(value: Any, where: str) -> Architecture:
    try:
        return Architecture.from_json(value) if isinstance(value, str) else Architecture.from_dict(value)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        shown = str(value)[:60]
        raise DataError(
            f"{where}: `architecture` must be the JSON of an Architecture (space, choices, key), got `{shown}`."
        ) from error


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or (isinstance(value, str) and not value.strip())


def _number(value: Any, name: str, where: str) -> float | None:
    """A finite number, or None where there is none."""
    if _blank(value):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DataError(f"{where}: `{name}` must be a number, got `{value}`.") from None
    return number if math.isfinite(number) else None


def _list(value: Any, name: str, where: str) -> list[float]:
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except ValueError:
            raise DataError(f"{where}: `{name}` must be a list of numbers, got `{value[:60]}`.") from None
    if not isinstance(value, str) and isinstance(value, Sequence | np.ndarray):
        try:
            return [float(v) for v in value]
        except (TypeError, ValueError):
            raise DataError(f"{where}: `{name}` must be a list of numbers, got `{str(value)[:60]}`.") from None
    if _blank(value):
        return []
    raise DataError(f"{where}: `{name}` must be a list of numbers, got `{str(value)[:60]}`.")


def _mean(rows: Sequence[Trained]) -> Trained:
    first = rows[0]
    if len(rows) == 1:
        return first
    numbers: dict[str, Any] = {}
    for name in _NUMBERS:
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        numbers[name] = float(np.mean(known)) if known else None
    alike = all(row.steps == first.steps for row in rows)
    curve = tuple(float(v) for v in np.mean([row.curve for row in rows], axis=0)) if alike else first.curve
    perplexity = math.exp(float(np.mean([math.log(row.perplexity) for row in rows])))
    return replace(first, perplexity=perplexity, curve=curve, **numbers)
