"""The numbers of a design run's report: the front against layer-scaled baselines at equal proxy, slices, predictions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from secateur.pareto import non_dominated
from secateur.report.data import DesignReportData, Row
from secateur.report.gain import between as before_after
from secateur.report.numbers import finite, shown_as, title
from secateur.report.picture import describe_decoder
from secateur.report.rows import Column, Table, compared, share, side_by_side


def number(row: Row, name: str) -> float | None:
    """A row's value of that name where it is a finite number."""
    return finite(row["values"].get(name))


def front_table(data: DesignReportData) -> Table:
    """The front, smallest proxy first: objectives, then all else that is known of the members, predictions beside.

    A row also holds `measured` and `prediction_error`, relative to the measured latency.
    """
    errors = {row["key"]: row["error"] for row in predictions(data)}
    rows: list[Row] = [
        {
            "key": entry["key"],
            "architecture": describe_decoder(entry["choices"]),
            "measured": bool(entry.get("measured")),
            **_gained(entry),
            **{name: number(entry, name) for name in data.quantities},
            "predicted_latency": entry.get("predicted_latency"),
            "prediction_error": errors.get(entry["key"]),
        }
        for entry in data.front
    ]
    rows.sort(key=lambda row: math.inf if row.get(data.proxy) is None else row[data.proxy])
    columns = [Column("key", "key"), Column("architecture", "architecture")]
    columns += [Column.of(name, "objectives") for name in data.quantities if name in data.objective_names]
    columns += [Column.of(name, "further") for name in data.quantities if name not in data.objective_names]
    against = f"against {data.published}"
    columns += [Column("speedup", "faster", "times", against), Column("smaller", "smaller by", "share", against)]
    if errors:
        columns += [Column("predicted_latency", "predicted", "seconds", "latency model")]
        columns += [Column("prediction_error", "error", "share", "latency model")]
    return Table(columns, rows).filled()


def _gained(entry: Row) -> Row:
    """What a member gains over the published network, and what of it is the latency model's."""
    gain, guessed = entry.get("gain") or {}, not entry.get("measured")
    found = {"speedup": gain.get("speedup"), "smaller": gain.get("parameters_smaller")}
    return found | {"speedup_predicted": guessed, "latency_predicted": guessed}


def slice_pairs(data: DesignReportData) -> list[tuple[str, str]]:
    """The pairs (across, upwards) that the front is shown in: a cost and the proxy, then costs among each other."""
    costs = [name for name in data.costs if name in data.quantities]
    return [(cost, data.proxy) for cost in costs] + [(b, a) for a, b in itertools.combinations(costs[:2], 2)]


def slice_rows(data: DesignReportData, x: str, y: str) -> list[Row]:
    """The members of the front that no other dominates by `x` and `y` alone, in order of `x`."""
    known = [entry for entry in data.front if number(entry, x) is not None and number(entry, y) is not None]
    points = np.array([[data.sign(n) * entry["values"][n] for n in (x, y)] for entry in known], dtype=np.float64)
    kept = non_dominated(points.reshape(len(known), 2))
    return sorted((e for e, keep in zip(known, kept, strict=True) if keep), key=lambda e: float(e["values"][x]))


def comparable(data: DesignReportData, cost: str) -> list[Row]:
    """The members that may stand against a baseline: by latency and memory the measured ones, where any is measured."""
    known = [e for e in data.front if number(e, cost) is not None and number(e, data.proxy) is not None]
    measured = [e for e in known if e.get("measured")]
    return measured if shown_as(cost) in ("seconds", "bytes") and measured else known


def cheapest(members: Sequence[Row], proxy: str, at_least: float, cost: str) -> Row | None:
    """The member with the lowest cost among those whose proxy is no lower than `at_least`; None where there is none."""
    enough = [e for e in members if e["values"][proxy] >= at_least]
    return min(enough, key=lambda e: float(e["values"][cost]), default=None)


def between(members: Sequence[Row], proxy: str, at: float, cost: str) -> float | None:
    """The cost at that proxy on the straight lines between the members that no other beats in both; None outside them."""
    steps: list[tuple[float, float]] = []
    for value, price in sorted(((float(e["values"][proxy]), float(e["values"][cost])) for e in members), reverse=True):
        if not steps or price < steps[-1][1]:
            steps.append((value, price))
    steps.reverse()
    if not steps or not steps[0][0] <= at <= steps[-1][0]:
        return None
    return float(np.interp(at, [s[0] for s in steps], [s[1] for s in steps]))


def saving(value: float | None, baseline: float | None) -> float | None:
    """How much lower `value` is, as a share of the baseline's; negative where it is higher."""
    part = share(value, baseline)
    return None if part is None else 1 - part


def comparison_rows(data: DesignReportData) -> list[Row]:
    """Per baseline, what the front costs at the same proxy or a higher one.

    For each cost: `<cost>` is the baseline's, `<cost>_front` that of the cheapest member whose proxy is no lower (its key in
    `<cost>_key`), `<cost>_saving` the share saved, `<cost>_between` the cost interpolated between members at exactly the
    baseline's proxy, `<cost>_between_saving` the share saved then. `together_key` is the one member (proxy no lower) whose
    smallest saving is largest, `<cost>_together` its savings. None where no member reaches the baseline's proxy. A
    baseline that is `alike` is compared with members of its own embedding only.
    """
    rows: list[Row] = []
    every = {cost: comparable(data, cost) for cost in data.costs}
    for baseline in data.baselines:
        members = every
        if baseline.get("alike"):
            members = {cost: [e for e in some if _embedding(e) == _embedding(baseline)] for cost, some in every.items()}
        at = number(baseline, data.proxy)
        row: Row = {"name": baseline["name"], "family": baseline["family"], "layers": baseline["layers"], "proxy": at}
        for cost in data.costs:
            price = number(baseline, cost)
            best = None if at is None else cheapest(members[cost], data.proxy, at, cost)
            found = None if best is None else float(best["values"][cost])
            line = None if at is None else between(members[cost], data.proxy, at, cost)
            row |= {cost: price, f"{cost}_key": best and best["key"], f"{cost}_front": found}
            row |= {f"{cost}_saving": saving(found, price), f"{cost}_between": line}
            row |= {f"{cost}_between_saving": saving(line, price)}
        rows.append(row | _together(data, baseline, at, members))
    return rows


def _embedding(row: Row) -> tuple[int, int]:
    return row["choices"]["embedding"], row["choices"]["factor"]


def _together(data: DesignReportData, baseline: Row, at: float | None, members: dict[str, list[Row]]) -> Row:
    """The one member that is good by all costs at once: its smallest saving is the largest there is."""
    costs = [cost for cost in data.costs if number(baseline, cost) is not None]
    everywhere = [{e["key"]: e for e in members[cost]} for cost in costs]
    shared = [e for key, e in everywhere[0].items() if all(key in found for found in everywhere)] if costs else []
    savings = {
        e["key"]: {cost: saving(number(e, cost), number(baseline, cost)) for cost in costs}
        for e in shared
        if at is not None and e["values"][data.proxy] >= at
    }
    best = max(savings, key=lambda key: min(v for v in savings[key].values() if v is not None), default=None)
    found: dict[str, Any] = savings[best] if best is not None else {}
    return {"together_key": best} | {f"{cost}_together": found.get(cost) for cost in data.costs}


def families(data: DesignReportData) -> list[str]:
    """The baselines' families, in their order: the first is the one that the summary is about."""
    return list(dict.fromkeys(str(b["family"]) for b in data.baselines))


def comparison_average(data: DesignReportData, family: str | None = None) -> Row:
    """The savings averaged over the baselines of a family (by default the first) that the front reaches; `reached` says how
    many, `baselines` out of how many; `<cost>_front_times` and `<cost>_between_times` how many times the front's cost the
    baselines' is. `largest` is the row of the reached baseline with the highest proxy, or None.
    """
    family = next(iter(families(data)), None) if family is None else family
    rows = [row for row in comparison_rows(data) if row["family"] == family]
    reached = [row for row in rows if any(row[f"{cost}_saving"] is not None for cost in data.costs)]
    average: Row = {"name": f"average of {family}", "reached": len(reached), "baselines": len(rows)}
    for name in (f"{cost}_{what}" for cost in data.costs for what in ("saving", "between_saving", "together")):
        values = [row[name] for row in reached if row[name] is not None]
        average[name] = float(np.mean(values)) if values else None
    for name, cost in ((f"{cost}_{which}", cost) for cost in data.costs for which in ("front", "between")):
        times = [row[cost] / row[name] for row in reached if row[cost] and row[name]]
        average[f"{name}_times"] = float(np.mean(times)) if times else None
    average["largest"] = max(reached, key=lambda row: float(row["proxy"]), default=None)
    return average


def comparison_table(data: DesignReportData) -> Table:
    """`comparison_rows` with columns: baseline, proxy, then per cost the two costs and the savings."""
    columns = [Column("name", "baseline"), Column("proxy", title(data.proxy), shown_as(data.proxy))]
    for cost in data.costs:
        group, how = title(cost), shown_as(cost)
        columns += [Column(cost, "baseline", how, group), Column(f"{cost}_front", "front", how, group)]
        columns += [Column(f"{cost}_saving", "lower by", "share", group)]
        columns += [Column(f"{cost}_between_saving", "interpolated", "share", group)]
    if len(data.costs) > 1:
        columns += [Column(f"{cost}_together", f"{title(cost)} by", "share", "one network, lower") for cost in data.costs]
    return Table(columns, comparison_rows(data))


def against(data: DesignReportData, entry: Row) -> tuple[str, Table]:
    """A member against the largest baseline whose proxy is no higher: the baseline's name ('' where none) and the lines."""
    own = number(entry, data.proxy)
    known = [b for b in data.baselines if number(b, data.proxy) is not None]
    smaller = [b for b in known if own is not None and b["values"][data.proxy] <= own]
    best: Row = max(smaller, key=lambda b: float(b["values"][data.proxy]), default={"name": "", "values": {}})
    lines = [compared(title(n), shown_as(n), number(best, n), number(entry, n)) for n in data.quantities]
    return str(best["name"]), side_by_side(str(best["name"]), lines)


def predictions(data: DesignReportData) -> list[Row]:
    """The latency model against the clock, per measured member: key, predicted, measured, error (relative, signed)."""
    rows: list[Row] = []
    for entry in data.front:
        predicted, measured = entry.get("predicted_latency"), number(entry, "latency")
        if entry.get("measured") and predicted is not None and measured:
            error = (predicted - measured) / measured
            rows.append({"key": entry["key"], "predicted": predicted, "measured": measured, "error": error})
    return rows


def prediction_errors(data: DesignReportData) -> Row | None:
    """How many members were measured, and the mean and the largest relative error of their predictions; None where none was."""
    errors = [abs(row["error"]) for row in predictions(data)]
    return {"members": len(errors), "mean": float(np.mean(errors)), "max": max(errors)} if errors else None


def summary(data: DesignReportData) -> tuple[str, str]:
    """What is read first: how much less the front needs than layer-scaled networks of equal proxy, and than which ones."""
    size = f"{len(data.front)} architecture{'' if len(data.front) == 1 else 's'} on the Pareto front"
    average = comparison_average(data)
    if not (parts := times_less(data, average)):
        return f"{size}.", ""
    count, whole = average["reached"], average["baselines"]
    which = f"the {count}" if count == whole else f"{count} of the {whole}"
    equal = times_less(data, average, "between")
    about = f"than layer-scaled {families(data)[0]} at equal {title(data.proxy)} or more, on average over {which} networks"
    return parts, f"{about}{f' (interpolated to equal {title(data.proxy)}: {equal})' if equal else ''}; {size}."


def times_less(data: DesignReportData, average: Row, which: str = "front", costs: Sequence[str] | None = None) -> str:
    """`1.21 × faster, 1.05 × less memory`: how many times the front's costs the baselines' are; `between`: interpolated."""
    told = []
    for cost in data.costs if costs is None else costs:
        if (times := average[f"{cost}_{which}_times"]) is not None:
            few = "fewer" if shown_as(cost) == "count" else "less"
            less, more = ("faster", "slower") if cost == "latency" else (f"{few} {title(cost)}", f"more {title(cost)}")
            told.append(f"{max(times, 1 / times):.2f} × {less if times >= 1 else more}")
    return ", ".join(told)


def in_units(data: DesignReportData, average: Row) -> str:
    """Against the largest baseline that the front reaches, in the costs' own units: `latency 497 → 462 ms, …`."""
    largest = average["largest"]
    if largest is None:
        return ""
    pairs = {cost: (largest[cost], largest[f"{cost}_front"]) for cost in data.costs}
    told = [f"{title(cost)} {before_after(pair, shown_as(cost))}" for cost, pair in pairs.items() if None not in pair]
    return f"{largest['name']}: {', '.join(told)}"
