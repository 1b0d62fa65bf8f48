"""The page that shows runs against each other: their fronts in one chart, and the tables."""

from __future__ import annotations

import html

import secateur.report.charts as charts
from secateur.report.compare_rows import Comparison
from secateur.report.data import Row
from secateur.report.numbers import show, shown_as, title
from secateur.report.page import page

#: What tells runs of one colour apart.
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "pentagon")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def styles(found: Comparison) -> list[tuple[str, str, str]]:
    """Per run a colour, a symbol and a dash. Runs that differ by their seed alone share the colour, where there are others."""
    several = len(found.groups) > 1
    places = {i: (g, n) for g, group in enumerate(found.groups) for n, i in enumerate(group)}
    kinds = [places[i] if several else (i, i // len(charts.COLOURS)) for i in range(len(found.runs))]
    return [(charts.COLOURS[c % len(charts.COLOURS)], _SYMBOLS[s % len(_SYMBOLS)], _DASHES[s % len(_DASHES)]) for c, s in kinds]


def fronts_figure(found: Comparison) -> charts.Figure:
    """All fronts, what no run beats among them, and the unpruned networks."""
    objectives = [o.name for o in found.objectives]
    x, y = objectives[1], objectives[0]
    rows = [member for front in found.fronts for member in front]
    known = dict.fromkeys([*objectives, *(name for row in rows for name in row["values"])])
    names = [name for name in known if all(row["values"].get(name) is not None for row in rows)]
    joined = len(objectives) == 2
    groups = []
    for run, front, (colour, symbol, dash) in zip(found.runs, found.fronts, styles(found), strict=True):
        line = {"color": colour, "width": 1.8, "shape": "hv", "dash": dash}
        groups.append(_group(run.name, "front", front, names, {"color": colour, "size": 8, "symbol": symbol}, line, joined))
    rings = {"color": charts.GREY, "size": 15, "symbol": "circle-open", "line": {"width": 1.5}}
    groups.append(_group("no run beats these", "unbeaten", found.unbeaten, names, rings, {}))
    whole: list[Row] = [
        {"architecture": f"the whole network of {run.name}", "values": run.unpruned}
        for run in found.runs
        if all(name in run.unpruned for name in objectives)
    ]
    groups.append(_group("unpruned", "unpruned", whole, names, {"color": charts.VIOLET, "size": 13, "symbol": "star"}, {}))
    axes = {name: {"title": title(name), "axis": charts.axis(name, found.score)} for name in names}
    return charts.scatter_figure(
        [charts.points(g, x, y, columns=charts.columns_of(g.rows, names)) for g in groups if g.rows],
        charts.axis(x, found.score),
        charts.axis(y, found.score),
        meta={"x": x, "y": y, "objectives": objectives, "axes": axes},
    )


def _group(
    name: str, role: str, rows: list[Row], names: list[str], marker: Row, line: Row, joined: bool = False
) -> charts.Group:
    hovers = [charts.hover(row.get("run", name), row["architecture"], row["values"], names) for row in rows]
    return charts.Group(role, html.escape(name), rows, hovers, marker, line, joined)


def progress_figure(found: Comparison) -> charts.Figure:
    """The hypervolume of every run after each of its trials."""
    traces = []
    for run, volumes, (colour, _, dash) in zip(found.runs, found.over_trials(), styles(found), strict=True):
        style = {"color": colour, "width": 1.8, "shape": "hv", "dash": dash}
        told = {"name": html.escape(run.name), "hovertemplate": "after %{x} trials: %{y:.4f}"}
        traces.append(charts.line(list(range(1, len(volumes) + 1)), volumes, style, **told))
    yaxis = charts.plain_axis("hypervolume", rangemode="tozero")
    return charts.figure(
        traces, xaxis=charts.plain_axis("trials"), yaxis=yaxis, margin=charts.MARGIN | {"t": 40}, **charts.LEGEND
    )


def compare_html(found: Comparison) -> str:
    """The page. Raises MissingExtraError where plotly or jinja2 is not installed."""
    figures = {"pareto": fronts_figure(found), "progress": progress_figure(found)}
    return page(
        "compare.html",
        f"{len(found.runs)} runs compared",
        figures,
        notes=found.notes,
        found=found,
        runs=found.runs_table(),
        groups=found.groups_table(),
        unbeaten=found.unbeaten_table(),
        reference=[f"{title(name)} {show(value, shown_as(name))}" for name, value in found.reference.items()],
    )
