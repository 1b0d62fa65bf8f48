"""Tables, computed: columns and rows, and the tables that every report has. Tested without any HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.objectives import QUALITIES
from secateur.pareto import hypervolume_over_time
from secateur.report.data import Row, RunData
from secateur.report.numbers import shown_as, title

#: How far beyond the worst observed value the hypervolume's reference lies, on objectives scaled to 0…1.
MARGIN = 0.1
#: The per cent of the unpruned network's layers at which the best sub-network is named.
SHARES = (10, 20, 30, 50, 70)
#: Statuses in the order they are counted.
STATUSES = ("complete", "infeasible", "failed", "running")


@dataclass(frozen=True)
class Column:
    """A column: `shown_as` says how its numbers are shown (see `numbers.show`), `group` is the heading it shares with its
    neighbours."""

    name: str
    title: str
    shown_as: str = "text"
    group: str = ""

    @classmethod
    def of(cls, quantity: str, group: str = "") -> Column:
        """The column of a quantity, under its own name."""
        return cls(quantity, title(quantity), shown_as(quantity), group)


@dataclass(frozen=True)
class Table:
    """Columns and rows. A row may hold more than the columns show: `<name>_share` is the value over the unpruned network's."""

    columns: list[Column]
    rows: list[Row]

    def filled(self, *optional: str) -> Table:
        """Without the columns that have no value in any row: of all columns, or of those named."""
        names = optional or [c.name for c in self.columns[1:]]
        empty = {name for name in names if all(row[name] is None for row in self.rows)}
        return Table([c for c in self.columns if c.name not in empty], self.rows)


def share(value: float | None, whole: float | None) -> float | None:
    """`value` over `whole`; None where it has no meaning."""
    return value / whole if value is not None and whole is not None and whole > 0 else None


def above(value: float | None, whole: float | None, chance: float | None) -> float | None:
    """The share of a score that is left of what `whole` has above chance; None where one of them is not known."""
    if value is None or whole is None or chance is None:
        return None
    return share(value - chance, whole - chance)


def compared(name: str, how: str, before: float | None, after: float | None, chance: float | None = None) -> Row:
    """One line of a table that sets two networks side by side: ratio is after / before, kept the same above chance."""
    line = {"quantity": name, "shown_as": how, "before": before, "after": after, "ratio": share(after, before)}
    return line | {"kept": above(after, before, chance)}


def side_by_side(other: str, lines: Sequence[Row]) -> Table:
    """A network against the one called `other`: the lines (`compared`) that have a number for the network itself."""
    columns = [Column("quantity", ""), Column("before", other), Column("after", "this one"), Column("ratio", "ratio", "share")]
    columns.append(Column("kept", "above chance", "share"))
    return Table(columns, [line for line in lines if line["after"] is not None]).filled("kept")


def trials_table(data: RunData, statuses: Sequence[str] | None = None, most: int | None = None) -> Table:
    """Every trial (of these statuses; the first `most` where that is given) in order of its number."""
    chosen = [t for t in data.trials if statuses is None or t["status"] in statuses]
    known = sorted(data.quantities, key=lambda name: name not in QUALITIES)
    names = [n for n in known if any(t["values"].get(n) is not None for t in chosen)]
    rows: list[Row] = []
    for t in sorted(chosen, key=lambda t: t["number"])[:most]:
        row = {name: t.get(name) for name in ("number", "status", "origin", "architecture", "key", "seconds", "reason")}
        rows.append(row | {name: t["values"].get(name) for name in names})
    columns = [Column("number", "trial", "integer"), Column("status", "status"), Column("origin", "origin")]
    columns += [Column("key", "key"), Column("architecture", "architecture"), *map(Column.of, names)]
    columns += [Column("seconds", "time", "seconds"), Column("reason", "reason")]
    return Table(columns, rows).filled("seconds", "reason")


def status_counts(data: RunData) -> list[Row]:
    """How many trials ended how, those that were asked for and the further results that came for free."""
    asked = Counter(t["status"] for t in data.trials if t.get("id") is not None)
    free = Counter(t["status"] for t in data.trials if t.get("id") is None)
    return [{"status": s, "asked": asked[s], "free": free[s]} for s in STATUSES if asked[s] or free[s]]


def stage_times(data: RunData) -> list[Row]:
    """The stages with their seconds and their share of the whole run."""
    total = sum(row["seconds"] or 0 for row in data.journal)
    return [{**row, "share": share(row["seconds"], total)} for row in data.journal]


def hypervolume_rows(data: RunData) -> list[Row]:
    """The hypervolume after each trial that was asked for and has ended.

    Objectives are scaled to 0…1 between the best and the worst value of the complete trials asked for; the reference point lies
    10 % beyond the worst. A failed or infeasible trial adds nothing. The largest volume there could be is 1.1 ** objectives.
    """
    names = data.objective_names
    ended = [t for t in data.trials if t.get("id") is not None and t["status"] != "running"]
    ended.sort(key=lambda t: t["number"])
    complete = [t for t in ended if t["status"] == "complete"]
    if not complete:
        return []
    points = np.array([[data.sign(n) * t["values"][n] for n in names] for t in complete], dtype=np.float64)
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    scaled = (points - low) / np.where(span > 0, span, 1.0)
    volumes = [0.0, *hypervolume_over_time(scaled, np.full(len(names), 1 + MARGIN)).tolist()]
    rows: list[Row] = []
    done = 0
    for i, t in enumerate(ended):
        done += t["status"] == "complete"
        rows.append({"trial": i + 1, "number": t["number"], "hypervolume": volumes[done]})
    return rows


def settings_rows(settings: Mapping[str, Any], prefix: str = "") -> list[Row]:
    """The settings, flattened: nested names are joined by dots."""
    rows: list[Row] = []
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            rows += settings_rows(value, f"{prefix}{name}.")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
            rows.append({"name": f"{prefix}{name}", "value": "" if text is None else str(text)})
    return rows
