"""The numbers of the report, computed: rows and columns, tested without any HTML."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.pareto import hypervolume_over_time
from secateur.report.data import ReportData, Row, RunData, kind, title
from secateur.report.numbers import show

#: The shares of the unpruned network at which the best sub-network is named.
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7)
#: How far beyond the worst observed value the hypervolume's reference lies, on objectives scaled to 0…1.
MARGIN = 0.1
#: Statuses in the order they are counted.
STATUSES = ("complete", "infeasible", "failed", "running")


@dataclass(frozen=True)
class Column:
    """A column of a table. `kind` says how its numbers are shown; `group` is the heading it shares with its neighbours."""

    name: str
    title: str
    kind: str = "text"
    group: str = ""


@dataclass(frozen=True)
class Table:
    """Columns and rows. A row may hold more than the columns show: `<name>_share` is the value over the unpruned network's."""

    columns: list[Column]
    rows: list[Row]


def score(metrics: Mapping[str, Any] | None, metric: str) -> float | None:
    """The main metric out of a set of metrics, or 1 − error; None where neither is there."""
    if not metrics:
        return None
    value = metrics.get(metric)
    if value is None and metrics.get("error") is not None:
        value = 1 - metrics["error"]
    return None if value is None or not math.isfinite(value) else float(value)


def share(value: float | None, whole: float | None) -> float | None:
    """`value` over `whole`; None where it has no meaning."""
    return value / whole if value is not None and whole is not None and whole > 0 else None


def _scores(entry: Row, metric: str) -> dict[str, float | None]:
    polished = entry.get("polished") or {}
    return {
        "validation": score({"error": entry["values"].get("error")}, metric),
        "test": score(entry.get("test"), metric),
        "polished_validation": score(polished.get("values"), metric),
        "polished_test": score(polished.get("test"), metric),
    }


def front_row(data: ReportData, entry: Row) -> Row:
    """An entry's costs and scores, each with its share of the unpruned network's; shared-weight and polished scores apart."""
    whole = data.unpruned["values"]
    unpruned = _scores(data.unpruned, data.metric)
    row: Row = {"key": entry.get("key", ""), "architecture": entry.get("architecture", "")}
    for name in data.costs:
        value = entry["values"].get(name)
        row[name], row[f"{name}_share"] = value, share(value, whole.get(name))
    for name, value in _scores(entry, data.metric).items():
        row[name] = value
        row[f"{name}_share"] = share(value, unpruned[name.removeprefix("polished_")])
    return row


def unpruned_row(data: ReportData) -> Row:
    """The unpruned network as a row of the front's table."""
    return front_row(data, {"key": "", "architecture": "unpruned", **data.unpruned, "polished": None})


def front_table(data: ReportData) -> Table:
    """The Pareto set, smallest first: costs, scores on shared weights, scores after polishing. Empty columns are left out."""
    rows = [front_row(data, entry) for entry in data.front]
    first = data.budget
    if first is not None:
        rows.sort(key=lambda row: math.inf if row[first] is None else row[first])
    costs = sorted(data.costs, key=lambda name: name != first)
    columns = [Column("architecture", "architecture", "text", "")]
    columns += [Column(name, title(name), kind(name), "cost") for name in costs]
    scores = [Column("validation", "validation", "score", f"{data.metric}, shared weights")]
    scores += [Column("test", "test", "score", f"{data.metric}, shared weights")]
    scores += [Column("polished_validation", "validation", "score", f"{data.metric}, polished")]
    scores += [Column("polished_test", "test", "score", f"{data.metric}, polished")]
    columns += [c for c in scores if c.name == "validation" or any(row[c.name] is not None for row in rows)]
    return Table(columns, rows)


def before_after(data: ReportData, entry: Row) -> Table:
    """One sub-network against the unpruned one: quantity, before, after, ratio (after / before); each row has its `kind`."""
    whole, values = data.unpruned["values"], entry["values"]
    rows: list[Row] = [compared(title(name), kind(name), whole.get(name), values.get(name)) for name in data.costs]
    polished = entry.get("polished") or {}
    test = _error(data.unpruned.get("test"), data.metric)
    rows.append(compared("error, validation", "score", whole.get("error"), values.get("error")))
    rows.append(compared("error, test", "score", test, _error(entry.get("test"), data.metric)))
    if polished:
        after = (polished.get("values") or {}).get("error")
        rows.append(compared("error, validation, polished", "score", whole.get("error"), after))
        rows.append(compared("error, test, polished", "score", test, _error(polished.get("test"), data.metric)))
    columns = [
        Column("quantity", ""),
        Column("before", "unpruned"),
        Column("after", "this one"),
        Column("ratio", "ratio", "share"),
    ]
    return Table(columns, [row for row in rows if row["after"] is not None])


def _error(metrics: Mapping[str, Any] | None, metric: str) -> float | None:
    found = score(metrics, metric)
    return None if found is None else 1 - found


def compared(name: str, shown_as: str, before: float | None, after: float | None) -> Row:
    """One line of a table that sets two networks side by side: the ratio is after / before."""
    return {"quantity": name, "kind": shown_as, "before": before, "after": after, "ratio": share(after, before)}


def metrics_table(data: ReportData, entry: Row) -> Table:
    """Every metric on the test set but the error, which `before_after` has: unpruned, on shared weights, polished."""
    sets = {
        "unpruned": data.unpruned.get("test"),
        "shared": entry.get("test"),
        "polished": (entry.get("polished") or {}).get("test"),
    }
    names = list(dict.fromkeys(name for metrics in sets.values() for name in metrics or {} if name != "error"))
    rows: list[Row] = [
        {"metric": name, **{where: (metrics or {}).get(name) for where, metrics in sets.items()}} for name in names
    ]
    columns = [Column("metric", "metric on the test set"), Column("unpruned", "unpruned", "score")]
    columns += [Column("shared", "shared weights", "score"), Column("polished", "polished", "score")]
    return Table([c for c in columns if c.name == "metric" or any(row[c.name] is not None for row in rows)], rows)


def budgets(data: ReportData) -> Table:
    """At each share of the unpruned network's size, the sub-network that is best on validation data: one by its score on shared
    weights (`key`, `validation`, `test`), and one by its score after polishing (`polished_…`, None where none is polished)."""
    rows: list[Row] = []
    entries = [front_row(data, entry) for entry in data.front]
    for limit in SHARES if data.budget else ():
        fitting = [e for e in entries if _within(e[f"{data.budget}_share"], limit)]
        row: Row = {"limit": limit}
        for prefix in ("", "polished_"):
            scored = [e for e in fitting if e[f"{prefix}validation"] is not None]
            best = max(scored, key=lambda e: float(e[f"{prefix}validation"]), default={})
            row |= {f"{prefix}{name}": best.get(name) for name in ("key", "architecture")}
            row |= {f"{prefix}{name}": best.get(f"{prefix}{name}") for name in ("validation", "test")}
        if row["key"] is not None:
            rows.append(row)
    columns = [Column("limit", "at most", "share"), Column("architecture", "architecture")]
    columns += [Column(n, n.replace("_", " "), "score") for n in ("validation", "test", "polished_validation", "polished_test")]
    return Table(columns, rows)


def _within(value: float | None, limit: float) -> bool:
    return value is not None and value <= limit


def summary(data: ReportData) -> str:
    """The run in a sentence: the best sub-network at half the size (or the nearest share that has one) and the unpruned."""
    rows = budgets(data).rows
    if not rows:
        return f"{len(data.front)} sub-networks on the Pareto front."
    row = min(rows, key=lambda r: abs(r["limit"] - 0.5))
    whole = unpruned_row(data)
    polished = row["polished_validation"] is not None
    which = "polished_" if polished else ""
    text = f"Best at ≤ {row['limit'] * 100:.0f} % of {title(str(data.budget))}"
    text += f"{', polished' if polished else ''}: {data.metric} {show(row[f'{which}validation'], 'score')} on validation data"
    text += f" (unpruned {show(whole['validation'], 'score')})"
    if row[f"{which}test"] is not None:
        text += f", {show(row[f'{which}test'], 'score')} on test data"
        text += f" (unpruned {show(whole['test'], 'score')})" if whole["test"] is not None else ""
    return text + "."


def trials_table(data: RunData, statuses: Sequence[str] | None = None, most: int | None = None) -> Table:
    """Every trial (of these statuses; the first `most` where that is given) in order of its number."""
    chosen = [t for t in data.trials if statuses is None or t["status"] in statuses]
    known = sorted(data.quantities, key=lambda name: name != "error")
    names = [n for n in known if any(t["values"].get(n) is not None for t in chosen)]
    rows: list[Row] = []
    for t in sorted(chosen, key=lambda t: t["number"])[:most]:
        row = {name: t.get(name) for name in ("number", "status", "origin", "architecture", "key", "seconds", "reason")}
        rows.append(row | {name: t["values"].get(name) for name in names})
    columns = [Column("number", "trial", "integer"), Column("status", "status"), Column("origin", "origin")]
    columns += [Column("architecture", "architecture"), *(Column(n, title(n), kind(n)) for n in names)]
    columns += [Column("seconds", "time", "seconds"), Column("reason", "reason")]
    return Table([c for c in columns if c.name not in ("seconds", "reason") or any(r[c.name] is not None for r in rows)], rows)


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
