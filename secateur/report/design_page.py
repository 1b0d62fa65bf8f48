"""The page of a design run: its charts, and what its template shows."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import secateur.report.charts as charts
import secateur.report.design_rows as rows_of
from secateur.catalogue import about
from secateur.report.data import DesignReportData, Row
from secateur.report.numbers import title
from secateur.report.page import run_page
from secateur.report.picture import decoder_picture, describe_decoder, scale

#: A search scores thousands of candidates: the page lists the first of them, the run's store has all.
MOST_TRIALS = 300
#: More candidates than this are thinned out evenly: the page stays quick.
MOST_POINTS = 1500
#: The colours, markers and lines of the baselines' families: told apart without colours too.
_FAMILIES = ((charts.VIOLET, "diamond", "dot"), (charts.ORANGE, "square", "dash"))


def candidates(data: DesignReportData) -> list[Row]:
    """The complete trials that are not on the front, every n-th where there are more than `MOST_POINTS`."""
    others = charts.beside_the_front(data)
    return others[:: -(-len(others) // MOST_POINTS) or 1]


def slice_figures(data: DesignReportData) -> dict[str, charts.Figure]:
    """Per pair of quantities: candidates, the front with a line through the members best by these two, and the baselines."""
    return {f"{x},{y}": _slice(data, x, y) for x, y in rows_of.slice_pairs(data)}


def _slice(data: DesignReportData, x: str, y: str) -> charts.Figure:
    first, *others = (charts.points(group, x, y) for group in _groups(data))
    traces = [first]
    best = charts.columns_of(rows_of.slice_rows(data, x, y), [x, y])
    if best[x]:
        style = {"color": charts.GREEN, "width": 2}
        traces.append(charts.line(best[x], best[y], style, hoverinfo="skip", showlegend=False, meta={"role": "slice"}))
    return charts.scatter_figure([*traces, *others], charts.axis(x), charts.axis(y))


def _groups(data: DesignReportData) -> list[charts.Group]:
    """What is drawn in every view: the candidates first, then members of the front and the baselines' families."""
    measured = [e for e in data.front if e.get("measured")]
    predicted = [e for e in data.front if not e.get("measured")]
    green, hollow = {"color": charts.GREEN, "size": 9}, {"symbol": "circle-open"} if measured else {}
    groups = [
        _group(data, "front", "front, measured" if predicted else "Pareto front", measured, green),
        _group(data, "front", "front, predicted" if measured else "Pareto front", predicted, green | hollow),
    ]
    for i, family in enumerate(rows_of.families(data)):
        rows = sorted((b for b in data.baselines if b["family"] == family), key=lambda b: int(b["layers"]))
        name = f"{family}, {rows[0]['layers']}…{rows[-1]['layers']} layers"
        colour, symbol, dash = _FAMILIES[i % len(_FAMILIES)]
        groups.append(_group(data, "baseline", name, rows, {"color": colour, "size": 8, "symbol": symbol}, dash))
    trials = _group(data, "trial", "candidates", candidates(data), {"color": charts.GREY, "size": 5, "opacity": 0.35})
    return [trials, *(g for g in groups if g.rows)]


def _group(
    data: DesignReportData, role: str, name: str, rows: list[Row], marker: dict[str, Any], dash: str = "dot"
) -> charts.Group:
    hovers = []
    for row in rows:
        heading = {"trial": "candidate {number}", "front": "front: {key}", "baseline": "{name}"}[role].format_map(row)
        names = () if role == "trial" else data.quantities
        hovers.append(charts.hover(heading, describe_decoder(row["choices"]), row["values"], names))
    line_style = {"color": marker["color"], "width": 1.5, "dash": dash}
    return charts.Group(role, name, rows, hovers, marker, line_style, joined=role == "baseline")


def space_figure(data: DesignReportData) -> charts.Figure | None:
    """The front in three dimensions, the proxy upwards; None where fewer than three quantities are known."""
    names = [name for name in [*data.costs, data.proxy] if name in data.quantities]
    if len(names) < 3:
        return None
    x, y, z = names[0], names[1], data.proxy
    sizes = {"trial": 2, "front": 5, "baseline": 4}
    groups = [dataclasses.replace(g, marker=g.marker | {"size": sizes[g.role]}) for g in _groups(data)]
    # Axes in space have no margins to keep.
    axes = {
        f"{place}axis": {k: v for k, v in charts.axis(quantity).items() if k != "automargin"}
        for place, quantity in (("x", x), ("y", y), ("z", z))
    }
    return charts.figure(
        [charts.points(group, x, y, z) for group in groups],
        scene={**axes, "camera": {"eye": {"x": 1.7, "y": -1.7, "z": 0.7}}, "aspectmode": "cube"},
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
    )


def prediction_figure(data: DesignReportData) -> charts.Figure | None:
    """Measured against predicted latency: the networks the model was checked on, the front, and where both are equal."""
    rows = rows_of.predictions(data)
    checks = list((data.latency_model or {}).get("points") or [])
    if not rows and not checks:
        return None
    entries = {entry["key"]: entry for entry in data.front}
    values = [v for row in [*rows, *checks] for v in (row["predicted"], row["measured"])]
    ends = [min(values), max(values)]
    traces = [charts.line(ends, ends, {"color": charts.GREY, "width": 1, "dash": "dash"}, hoverinfo="skip", name="equal")]
    for name, found, colour, size in (("checked after the fit", checks, charts.GREY, 6), ("front", rows, charts.GREEN, 8)):
        if found:
            keys = [p.get("key", "") for p in found]
            hovers = [_hover_prediction(p, entries.get(key)) for p, key in zip(found, keys, strict=True)]
            at = {"x": [p["predicted"] for p in found], "y": [p["measured"] for p in found]}
            traces.append(charts.dots(at, name, {"color": colour, "size": size}, hovers, customdata=keys))
    axes = ({**charts.axis("latency"), "title": {"text": f"{which} latency"}} for which in ("predicted", "measured"))
    return charts.scatter_figure(traces, *axes)


def _hover_prediction(point: Row, entry: Row | None) -> str:
    error = (point["predicted"] - point["measured"]) / point["measured"]
    heading, words = (f"front: {entry['key']}", describe_decoder(entry["choices"])) if entry else ("checked", "")
    text = charts.hover(heading, words, {"latency": point["measured"]}, ["latency"])
    return f"{text}<br>predicted {error:+.1%} off"


def design_html(data: DesignReportData) -> str:
    """The page. Raises MissingExtraError where plotly or jinja2 is not installed."""
    figures = {
        "slices": slice_figures(data),
        "space": space_figure(data),
        "prediction": prediction_figure(data),
        "hypervolume": charts.hypervolume_figure(data),
    }
    largest = scale(row["choices"] for row in [*data.front, *data.baselines])
    (lead, told), average = rows_of.summary(data), rows_of.comparison_average(data)
    return run_page(
        "design.html",
        data,
        figures,
        functools.partial(_entry, data, largest),
        MOST_TRIALS,
        summary=lead,
        about=told,
        units=rows_of.in_units(data, average),
        times={c: [rows_of.times_less(data, average, which, [c]) for which in ("front", "between")] for c in data.costs},
        others={name: rows_of.times_less(data, rows_of.comparison_average(data, name)) for name in rows_of.families(data)[1:]},
        slices={f"{x},{y}": f"{title(y)} against {title(x)}" for x, y in rows_of.slice_pairs(data)},
        comparison=rows_of.comparison_table(data),
        average=average,
        averages=[rows_of.comparison_average(data, family) for family in rows_of.families(data)],
        titles={name: title(name) for name in [data.proxy, *data.costs]},
        objectives=[_objective(data, text) for text in data.objectives],
        front=rows_of.front_table(data),
        backbones=list(dict.fromkeys(about("backbone", e["choices"]["backbone"]) for e in data.front)),
        measured=sum(bool(entry.get("measured")) for entry in data.front),
        errors=rows_of.prediction_errors(data),
        search_seconds=next((row["seconds"] for row in data.journal if row["stage"] == "search"), None),
    )


def _objective(data: DesignReportData, text: str) -> str:
    name = data.objective_names[data.objectives.index(text)]
    return f"{text} {'↑' if data.direction(name) == 'max' else '↓'}"


def _entry(data: DesignReportData, largest: dict[str, int], entry: Row) -> Row:
    """What the page shows of one member of the front beside its row."""
    baseline, lines = rows_of.against(data, entry)
    return {
        "thumbnail": decoder_picture(entry["choices"], largest, compact=True),
        "picture": decoder_picture(entry["choices"], largest),
        "gain": entry.get("gain_text") if data.published else "",
        "baseline": baseline,
        "against": lines,
    }
