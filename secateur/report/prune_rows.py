"""The numbers of a pruning run's report: the front beside the unpruned network, the best at each size, importance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from secateur.objectives import PERPLEXITY
from secateur.report.data import ReportData, Row
from secateur.report.numbers import finite, score_shown, show, shown_as, title
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
    """Not polished, and polished."""
    polished = entry.get("polished") or {}
    return {
        "validation": score(entry["values"], metric),
        "test": score(entry.get("test"), metric),
        "perplexity": finite((entry.get("test") or {}).get("perplexity")),
        "polished_validation": score(polished.get("values"), metric),
        "polished_test": score(polished.get("test"), metric),
        "polished_perplexity": finite((polished.get("test") or {}).get("perplexity")),
    }


def front_row(data: ReportData, entry: Row) -> Row:
    """An entry's gains, costs and the scores of the weights that an export writes, with shares of the unpruned network's."""
    whole, unpruned = data.unpruned["values"], _scores(data.unpruned, data.metric)
    row: Row = {name: entry.get(name, "") for name in ("key", "architecture")} | {"weights": entry.get("weights", "shared")}
    for name in data.costs:
        value = entry["values"].get(name)
        row[name], row[f"{name}_share"] = value, share(value, whole.get(name))
    own, prefix = _scores(entry, data.metric), "polished_" if row["weights"] == "polished" else ""
    for name in ("perplexity", "validation", "test"):
        row[name], row[f"{name}_share"] = own[prefix + name], share(own[prefix + name], unpruned[name])
    gain = entry.get("gain") or {}
    row |= {"speedup": gain.get("speedup"), "speedup_predicted": bool(gain.get("latency_predicted"))}
    row |= {"points": gain.get("points"), "kept": gain.get("kept_above_chance")}
    return row | {"chance": bool(entry.get("chance"))}


def unpruned_row(data: ReportData) -> Row:
    """The unpruned network as a row of the front's table."""
    return front_row(data, {"key": "", "architecture": "unpruned", "weights": "", **data.unpruned})


def front_table(data: ReportData) -> Table:
    """All members, smallest first: gains, costs, and the scores of the weights that an export writes. Empty columns are left
    out; a language model's perplexity comes before all else."""
    rows = [front_row(data, entry) for entry in data.front]
    first = data.budget
    if first is not None:
        rows.sort(key=lambda row: math.inf if row[first] is None else row[first])
    columns = [Column("key", "key"), Column("architecture", "architecture")]
    columns += [Column("perplexity", "perplexity", "number", "test")] if data.quality != PERPLEXITY else []
    columns += [Column("speedup", "faster", "times", "gain"), Column("points", "points", "points", "gain")]
    columns += [Column("kept", "above chance", "share", "gain")]
    columns += [Column.of(name, "cost") for name in sorted(data.costs, key=lambda name: name != first)]
    columns += [Column(name, name, score_shown(data.metric), data.metric_title) for name in ("validation", "test")]
    columns += [Column("weights", "weights", "text", data.metric_title)]
    return Table(columns, rows).filled("perplexity", "speedup", "points", "kept", "test")


def before_after(data: ReportData, entry: Row) -> Table:
    """One sub-network against the unpruned one: quantity, before, after, ratio (after / before), and of scores the share that
    is kept of what lies above chance. A language model's perplexities come first."""
    whole, values = data.unpruned["values"], entry["values"]
    test, polished = data.unpruned.get("test") or {}, entry.get("polished") or {}
    lines, scores = [], []
    before = _scores(data.unpruned, data.metric)
    for prefix, suffix, metrics in (("", "", entry.get("test")), ("polished_", ", polished", polished.get("test"))):
        if data.quality != PERPLEXITY:
            found = (metrics or {}).get("perplexity")
            lines.append(compared(f"perplexity, test{suffix}", "number", test.get("perplexity"), found))
        for name, chance in (("validation", data.chance), ("test", data.chance_test)):
            after = _scores(entry, data.metric)[prefix + name]
            scores.append(_line(data, f"{name}{suffix}", before[name], after, chance))
    lines += [compared(title(name), shown_as(name), whole.get(name), values.get(name)) for name in data.costs]
    return side_by_side("unpruned", lines + scores)


def _line(data: ReportData, where: str, before: float | None, after: float | None, chance: float | None) -> Row:
    """One line of scores; what is kept of a perplexity is counted in its logarithm."""
    line = compared(f"{data.metric_title}, {where}", score_shown(data.metric), before, after, chance)
    if data.quality != PERPLEXITY:
        return line
    logs = [None if value is None else -math.log(value) for value in (before, after, chance)]
    return line | {"kept": compared("", "number", *logs)["kept"]}


def kept_of(entry: Row) -> str:
    """What is left of the score, in words: of all of it, and of what was learned above chance."""
    gain = entry.get("gain") or {}
    part, kept = share(gain.get("score"), gain.get("unpruned_score")), gain.get("kept_above_chance")
    told = []
    if part is not None:
        metric = str(gain["metric"]).replace("_", " ")
        told.append(f"{show(part, 'share')} of the {metric} on {gain['data']} data is left")
    if kept is not None:
        of = f"{show(kept, 'share')} of what was learned above chance ({gain['chance']:.3f})"
        told.append(of if told else f"{of} on {gain['data']} data is left, in nats per token")
    return ", ".join(told)


def metrics_table(data: ReportData, entry: Row) -> Table:
    """Every metric on the test set but the error, which `before_after` has: unpruned, not polished, polished."""
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
    columns += [Column("shared", "not polished", "score"), Column("polished", "polished", "score")]
    return Table(columns, rows).filled()


def cards(data: ReportData) -> list[Row]:
    """At each share of the unpruned network's size, the member that the run's rule of choice names, as a row of the table with
    its gain in words: the first of them, and the others. Shares at which it is the same member are one card, from `limit` to
    `last`."""
    entries = {entry["key"]: entry for entry in data.front}
    found: list[Row] = []
    for key, group in itertools.groupby(data.cards, lambda card: str(card["key"])):
        limits = [card["limit"] for card in group]
        first, _, others = str(entries[key].get("gain_text") or "").partition(", ")
        card = {"limit": limits[0], "last": limits[-1], "gain": first, "further": others}
        found.append(front_row(data, entries[key]) | card)
    return found


def summary(data: ReportData) -> str:
    """What is read first: the gain, or how far the run has got. Nothing where there is doubt: that is said then."""
    count = sum(bool(entry.get("best", True)) for entry in data.front)
    return data.lead or ("" if data.doubt else f"{count} sub-network{'' if count == 1 else 's'} on the Pareto front.")


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
