"""Trained or measured networks, in columns: what searchers, proxies and predictors are judged on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.errors import DataError, EvaluationFailure
from secateur.tables.ranking import kendall, spearman

UNSTATED = "unstated"


@dataclass(frozen=True)
class Ceiling:
    """How well one training ranks as another with a new seed does: no proxy can be expected to agree better with either.

    Rank correlations over the `pairs` architectures that were trained twice, None where they are too few.
    """

    pairs: int
    spearman: float | None
    kendall: float | None


@dataclass(frozen=True, eq=False)
class Table:
    """One row per training or measurement, n in all; an architecture that was trained with several seeds has several.

    - `columns`: name → (n,) numbers, NaN where one is not known. Those in `final` hold at the end of training only, the others
      (counts, latencies) at every budget; the logarithms of those in `geometric` are averaged over seeds, not they themselves.
    - `curves`: name → (n, b) numbers at `budgets`, which rise: (b,), or (n, b) where rows differ, NaN behind a row's last.
    - `seconds`: of the whole training (n,), or up to each budget (n, b). `seed`, `source`: (n,), or one for all.
    - `extra`: further columns of any values, None where there is none.

    `architectures` may be a sequence that makes each when it is asked for: one that also has their `keys`.

    Raises DataError for columns of another length and budgets that do not rise.
    """

    architectures: Sequence[Architecture]
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    curves: Mapping[str, np.ndarray] = field(default_factory=dict)
    budgets: np.ndarray = field(default_factory=lambda: np.zeros(0))
    seconds: np.ndarray | None = None
    seed: Any = 0
    source: Any = UNSTATED
    extra: Mapping[str, Any] = field(default_factory=dict)
    final: tuple[str, ...] = ()
    geometric: tuple[str, ...] = ()
    where: str = "the table"

    def __post_init__(self) -> None:
        n, b = len(self.architectures), np.shape(self.budgets)[-1]
        shaped = self._shaped
        given: dict[str, Any] = {
            "architectures": self.architectures if hasattr(self.architectures, "keys") else tuple(self.architectures),
            "columns": {name: shaped(name, column, (n,)) for name, column in self.columns.items()},
            "curves": {name: shaped(name, curve, (n, b)) for name, curve in self.curves.items()},
            "budgets": shaped("budgets", self.budgets, (b,), (n, b)),
            "seconds": None if self.seconds is None else shaped("seconds", self.seconds, (n,), (n, b)),
            "seed": shaped("seed", self.seed if np.ndim(self.seed) else [self.seed] * n, (n,), dtype=np.int64),
            "source": shaped("source", self.source if np.ndim(self.source) else [self.source] * n, (n,), dtype=np.str_),
            "extra": {name: shaped(name, np.fromiter(v, object), (n,), dtype=object) for name, v in self.extra.items()},
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        if (np.diff(self.budgets) <= 0).any():
            raise DataError(f"`{self.where}`: `budgets` must be ascending.")

    def _shaped(self, name: str, values: Any, *shapes: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        found = np.asarray(values, dtype=dtype)
        if found.shape not in shapes:
            rule = " or ".join(map(str, shapes))
            raise DataError(f"`{self.where}`: `{name}` must have the shape {rule}, got {found.shape}.")
        return found

    #: Whether it answers for architectures that it has no row of, too: see `asked`.
    answers_all: ClassVar[bool] = False

    def asked(self, architecture: Architecture, seed: int | None = None) -> tuple[Table, int | None]:
        """Where the answer for an architecture stands: a table, and the seed of the training in it; None: the mean over all."""
        return self, seed

    def trained(self, seed: int) -> Table:
        """The table with a training in each row: one that answers for all draws them with a seed."""
        return self

    def __len__(self) -> int:
        return len(self.architectures)

    def __contains__(self, key: str) -> bool:
        return key in self._first

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of each row's architecture."""
        made: Iterable[str] | None = getattr(self.architectures, "keys", None)
        return tuple(architecture.key for architecture in self.architectures) if made is None else tuple(made)

    @property
    def distinct(self) -> int:
        """How many architectures there are, however often each was trained."""
        return len(self._first)

    @property
    def repeated(self) -> int:
        """How many architectures were trained with several seeds."""
        return sum(len(rows) > 1 for rows in self._trainings.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Of all that `values` may tell."""
        return (*self.columns, *self.curves)

    @property
    def sources(self) -> list[str]:
        return sorted(set(self.source.tolist()))

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that the table can tell."""
        named = {**self.columns, **self.curves, "budgets": self.budgets, "seed": self.seed, "seconds": self.seconds}
        parts = [part for name, a in named.items() if a is not None for part in (f"{name} {a.shape}".encode(), a.tobytes())]
        return digest("table 1", str(self.keys), str((self.final, self.geometric)), *parts)

    def require(self, name: str, budget: float | None = None) -> None:
        """Raise DataError, with what there is, where the table has no such column or curve, or no such budget."""
        if name not in self.names:
            raise DataError(f"`{self.where}` has no column `{name}`. Its columns: {', '.join(self.names)}.")
        known = np.unique(self.budgets[np.isfinite(self.budgets)])
        if budget is not None and budget not in known:
            listed = ", ".join(f"{b:g}" for b in known) or "none"
            raise DataError(f"`{self.where}` has no budget {budget:g}. Its budgets: {listed}.")

    def query(self, keys: Iterable[str], metric: str, budget: float | None = None, *, seed: int | None = None) -> np.ndarray:
        """The (k,) values of a column or curve for these architectures at a budget, by default at the end of training: means
        over the seeds, or those of one. NaN where the table has none. Raises DataError for an unknown metric or budget."""
        self.require(metric, budget)
        table = self.means if seed is None else self
        rows = np.array([self._row(key, seed) for key in keys], dtype=int)
        return np.where(rows >= 0, table.column(metric, budget)[rows], np.nan)

    def _row(self, key: str, seed: int | None) -> int:
        """Where one training of an architecture stands, or, in the table of means, all; −1 where nowhere."""
        return self.means._first.get(key, -1) if seed is None else self._by_seed.get((key, seed), -1)

    def values(
        self, key: str, budget: float | None = None, *, seed: int | None = None, names: Iterable[str] | None = None
    ) -> dict[str, float]:
        """What is known of an architecture at a budget, by default at the end: of one training, or the mean over its seeds.

        `names` asks for some only. Raises EvaluationFailure where the table has no such training.
        """
        table, row = self._find(key, seed)
        place, whole = (found[row] for found in table._at(budget))
        known = {}
        for name in table.names if names is None else names:
            if name in table.curves:
                value = table.curves[name][row, place] if place >= 0 else math.nan
            else:
                value = table.columns[name][row] if whole or name not in table.final else math.nan
            if math.isfinite(value):
                known[name] = float(value)
        return known

    def curve(
        self, key: str, name: str, budget: float | None = None, *, seed: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Budgets (k,) and values (k,) of an architecture's curve up to a budget, by default to its end, as known."""
        table, row = self._find(key, seed)
        budgets, values = table._grid[row], table.curves[name][row]
        kept = np.isfinite(values) & (budgets <= (math.inf if budget is None else budget))
        return budgets[kept], values[kept]

    def seconds_to(self, key: str, budget: float | None = None, *, seed: int | None = None) -> float | None:
        """What training took up to a budget, by default to its end; None where that is not known.

        Where only the whole is known, a budget takes its share of it.
        """
        table, row = self._find(key, seed)
        if table.seconds is None:
            return None
        place, last = (table._at(at)[0][row] for at in (budget, None))
        if table.seconds.ndim == 2:
            found = table.seconds[row, place] if place >= 0 else math.nan
        else:
            share = 1.0 if budget is None else budget / table._grid[row, last] if place >= 0 else math.nan
            found = table.seconds[row] * share
        return float(found) if math.isfinite(found) else None

    def _find(self, key: str, seed: int | None) -> tuple[Table, int]:
        """The table and row that hold one training of an architecture, or the mean over all."""
        table = self.means if seed is None else self
        row = self._row(key, seed)
        if row < 0:
            of = "" if seed is None or key not in self else f" with seed {seed}"
            raise EvaluationFailure(f"`{self.where}` has no network `{key}`{of}.")
        return table, row

    def column(self, name: str, budget: float | None = None) -> np.ndarray:
        """The (n,) values of a column or curve at a budget, by default at each row's end; NaN where there is none."""
        places, whole = self._at(budget)
        if name in self.curves:
            return np.where(places >= 0, self.curves[name][np.arange(len(self)), places], np.nan)
        if name not in self.columns:
            return np.full(len(self), np.nan)
        return np.where(whole | (name not in self.final), self.columns[name], np.nan)

    def at_share(self, name: str, share: float) -> np.ndarray:
        """The (n,) values of a curve after a share of each training, on a straight line between the budgets around it.

        NaN where the curve begins later: nothing is extrapolated.
        """
        found = np.full(len(self), np.nan)
        ends = self._at(None)[0]
        for row, end in enumerate(ends.tolist() if name in self.curves else ()):
            budgets = self._grid[row, : end + 1]
            if end >= 0 and share * budgets[-1] >= budgets[0]:
                found[row] = np.interp(share * budgets[-1], budgets, self.curves[name][row, : end + 1])
        return np.where(np.isfinite(found), found, np.nan)

    def ceiling(self, name: str, budget: float | None = None) -> Ceiling:
        """The agreement between the first two trainings of the architectures that were trained more than once."""
        values = self.column(name, budget)
        pairs = [rows[:2] for rows in self._trainings.values() if len(rows) > 1]
        first, second = values[np.array(pairs, dtype=int).reshape(-1, 2)].T
        known = np.isfinite(first) & np.isfinite(second)
        first, second = first[known], -second[known]
        return Ceiling(len(first), spearman(first, second), kendall(first, second))

    def take(self, rows: Any) -> Table:
        """The table of some rows: their numbers, or one boolean each."""
        chosen = np.arange(len(self))[np.asarray(rows) if len(rows) else []]
        return replace(
            self,
            architectures=[self.architectures[row] for row in chosen],
            columns={name: column[chosen] for name, column in self.columns.items()},
            curves={name: curve[chosen] for name, curve in self.curves.items()},
            budgets=self.budgets if self.budgets.ndim == 1 else self.budgets[chosen],
            seconds=None if self.seconds is None else self.seconds[chosen],
            seed=self.seed[chosen],
            source=self.source[chosen],
            extra={name: column[chosen] for name, column in self.extra.items()},
        )

    def only(self, sources: str | Iterable[str]) -> Table:
        """The rows of these sources. Raises DataError for one that the table does not have."""
        wanted = [sources] if isinstance(sources, str) else list(sources)
        unknown = [source for source in wanted if source not in self.sources]
        if unknown:
            raise DataError(f"`{self.where}` has no rows of source `{unknown[0]}`; it has: {', '.join(self.sources)}.")
        return self.take(np.isin(self.source, wanted))

    def averaged(self) -> Table:
        """One row per architecture, in order of first appearance: numbers are means over its trainings, where known.

        Curves are averaged where the trainings have the same budgets, with a gap where one has a gap; else the first
        training's curve stands.
        """
        trainings = list(self._trainings.values())
        found = self.take(np.array([rows[0] for rows in trainings], dtype=int))
        repeated = [place for place, rows in enumerate(trainings) if len(rows) > 1]
        alike = repeated
        if self.budgets.ndim == 2:
            alike = [p for p in repeated if all(np.array_equal(found.budgets[p], self.budgets[r], True) for r in trainings[p])]
        for name, column in found.columns.items():
            _average(self.columns[name], trainings, repeated, column, geometric=name in self.geometric)
        for name, curve in found.curves.items():
            _average(self.curves[name], trainings, alike, curve)
        if self.seconds is not None and found.seconds is not None:
            _average(self.seconds, trainings, repeated if self.seconds.ndim == 1 else alike, found.seconds)
        return found

    @cached_property
    def means(self) -> Table:
        """What `averaged` gives, computed once; the table itself where no architecture was trained twice."""
        return self if len(self._first) == len(self) else self.averaged()

    @cached_property
    def _first(self) -> dict[str, int]:
        """The first row of each architecture, in the order of first appearance."""
        found = dict(zip(self.keys, range(len(self)), strict=True))
        if len(found) < len(self):
            for row, key in reversed(list(enumerate(self.keys))):
                found[key] = row
        return found

    @cached_property
    def _by_seed(self) -> dict[tuple[str, int], int]:
        return {(key, int(self.seed[row])): row for key, rows in self._trainings.items() for row in rows}

    @cached_property
    def _trainings(self) -> dict[str, list[int]]:
        """The rows of each architecture's trainings; one training that stands under several sources counts once."""
        found: dict[str, dict[int, int]] = {}
        for row, (key, seed) in enumerate(zip(self.keys, self.seed.tolist(), strict=True)):
            found.setdefault(key, {}).setdefault(seed, row)
        return {key: list(rows.values()) for key, rows in found.items()}

    @cached_property
    def _grid(self) -> np.ndarray:
        """The budgets of each row (n, b)."""
        return np.broadcast_to(self.budgets, (len(self), self.budgets.shape[-1]))

    @cached_property
    def _places(self) -> dict[float | None, tuple[np.ndarray, np.ndarray]]:
        return {}

    def _at(self, budget: float | None) -> tuple[np.ndarray, np.ndarray]:
        """Where in each row's curve a budget stands (n,), −1 where nowhere, and whether it is the whole training (n,)."""
        if budget not in self._places:
            ends = np.isfinite(self._grid).sum(axis=1) - 1
            numbers = np.arange(1, self._grid.shape[1] + 1)
            places = ends if budget is None else ((self._grid == budget) * numbers).sum(axis=1) - 1
            self._places[budget] = places, (places == ends) & ((budget is None) | (places >= 0))
        return self._places[budget]


def _average(
    values: np.ndarray, trainings: Sequence[Sequence[int]], places: Sequence[int], into: np.ndarray, geometric: bool = False
) -> None:
    """Put the mean over each listed architecture's rows in its place. Of columns (n,) the mean is over what is known."""
    if not places:
        return
    rows = values[[row for place in places for row in trainings[place]]]
    rows = np.log(rows) if geometric else rows
    known = np.isfinite(rows) if values.ndim == 1 else np.ones(rows.shape, dtype=bool)
    starts = np.cumsum([0, *(len(trainings[place]) for place in places[:-1])])
    with np.errstate(invalid="ignore"):
        means = np.add.reduceat(np.where(known, rows, 0.0), starts, axis=0) / np.add.reduceat(known, starts, axis=0, dtype=int)
    into[list(places)] = np.exp(means) if geometric else means
