"""The numbers of a pruning run's report: the front beside the unpruned network, the best at each size, importance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from secateur.report.data import ReportData, Row
from secateur.report.numbers import finite, shown_as, title
from secateur.report.picture import kept
from secateur.report.rows import Column, Table, compared, share, side_by_side

#: How many points a layer's curve of units has at most.
POINTS = 64


def score(metrics: Mapping[str, Any] | None, metric: str) -> float | None:
    """The main metric out of a set of metrics, or 1 − error; None where neither is there."""
    if not metrics:
        return None
    value = metrics.get(metric)
    if value is None and metrics.get("error") is not None:
        value = 1 - metrics["error"]
    return finite(value)


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
    gain = entry.get("gain") or {}
    return row | {"speedup": gain.get("speedup"), "points": gain.get("points"), "chance": bool(entry.get("chance"))}


def unpruned_row(data: ReportData) -> Row:
    """The unpruned network as a row of the front's table."""
    return front_row(data, {"key": "", "architecture": "unpruned", **data.unpruned, "polished": None})


def front_table(data: ReportData) -> Table:
    """All members, smallest first: gains, costs, scores on shared weights and after polishing. Empty columns are left out."""
    rows = [front_row(data, entry) for entry in data.front]
    first = data.budget
    if first is not None:
        rows.sort(key=lambda row: math.inf if row[first] is None else row[first])
    columns = [Column("architecture", "architecture")]
    columns += [Column("speedup", "faster", "times", "gain"), Column("points", "points", "points", "gain")]
    columns += [Column.of(name, "cost") for name in sorted(data.costs, key=lambda name: name != first)]
    for prefix, weights in (("", "shared weights"), ("polished_", "polished")):
        columns += [Column(prefix + n, n, "score", f"{data.metric}, {weights}") for n in ("validation", "test")]
    return Table(columns, rows).filled("speedup", "points", "test", "polished_validation", "polished_test")


def before_after(data: ReportData, entry: Row) -> Table:
    """One sub-network against the unpruned one: quantity, before, after, ratio (after / before)."""
    whole, values = data.unpruned["values"], entry["values"]
    lines = [compared(title(name), shown_as(name), whole.get(name), values.get(name)) for name in data.costs]
    polished = entry.get("polished") or {}
    test = _error(data.unpruned.get("test"), data.metric)
    for suffix, found in (("", entry), (", polished", polished)):
        after = (found.get("values") or {}).get("error")
        lines.append(compared(f"error, validation{suffix}", "score", whole.get("error"), after))
        lines.append(compared(f"error, test{suffix}", "score", test, _error(found.get("test"), data.metric)))
    return side_by_side("unpruned", lines)


def _error(metrics: Mapping[str, Any] | None, metric: str) -> float | None:
    found = score(metrics, metric)
    return None if found is None else 1 - found


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
    return Table(columns, rows).filled()


def cards(data: ReportData) -> list[Row]:
    """At each share of the unpruned network's size, the member that the run's rule of choice names, as a row of the table."""
    rows = {entry["key"]: (front_row(data, entry), entry) for entry in data.front}
    found: list[Row] = []
    for card in data.cards:
        row, entry = rows[card["key"]]
        prefix = "polished_" if entry.get("weights") == "polished" else ""
        chosen = {name: row[f"{prefix}{name}"] for name in ("validation", "test")}
        found.append({**row, **chosen, **card, "weights": entry.get("weights", "shared"), "gain": entry.get("gain_text", "")})
    return found


def summary(data: ReportData) -> str:
    """The run in a sentence."""
    return data.lead or f"{len(data.front)} sub-networks on the Pareto front."


def kept_heads(data: ReportData, plan: Mapping[str, Any]) -> list[list[int] | None]:
    """Per layer of the unpruned network: the original indices of the heads that are kept, or None where the layer is gone."""
    order = (data.importance or {}).get("order_heads")
    found: list[list[int] | None] = [None] * data.shape["layers"]
    for layer in plan["layers"]:
        places, index = kept(layer["heads"], data.shape["heads"]), layer["index"]
        found[index] = places if order is None else sorted(int(order[index][place]) for place in places)
    return found


def head_scores(data: ReportData) -> list[list[Row]]:
    """Per layer and original head: its score and its place in the order. Empty where nothing was ordered."""
    found = data.importance
    if found is None or not found.get("heads"):
        return []
    rows = []
    for scores, order in zip(found["heads"], found["order_heads"], strict=True):
        place = {int(original): i for i, original in enumerate(order)}
        rows.append([{"head": i, "score": float(s), "place": place[i]} for i, s in enumerate(scores)])
    return rows


def unit_curves(data: ReportData) -> list[list[Row]]:
    """Per layer: the share of its importance (0…1) that the first share of its units holds, in at most `POINTS` + 1 points."""
    found = data.importance
    if found is None or not found.get("units"):
        return []
    curves = []
    for scores, order in zip(found["units"], found["order_units"], strict=True):
        sorted_scores = np.asarray(scores, dtype=np.float64)[np.asarray(order, dtype=np.int64)]
        cumulative = np.concatenate([[0.0], np.cumsum(sorted_scores)])
        total = cumulative[-1] if cumulative[-1] > 0 else 1.0
        picked = np.unique(np.linspace(0, len(sorted_scores), min(POINTS, len(sorted_scores)) + 1).round().astype(int))
        count = len(sorted_scores)
        curves.append(
            [{"units": int(i), "share": float(i / count), "importance": float(cumulative[i] / total)} for i in picked]
        )
    return curves
