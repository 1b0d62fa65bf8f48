"""The page of a pruning run: its charts, and what its template shows."""

from __future__ import annotations

import functools
import html
from typing import Any

import secateur.report.charts as charts
import secateur.report.prune_rows as rows_of
from secateur.objectives import PERPLEXITY, QUALITIES
from secateur.report.data import ReportData, Row
from secateur.report.formats_rows import formats_table
from secateur.report.numbers import finite, score_shown, title
from secateur.report.page import run_page
from secateur.report.picture import pruned_picture

MOST_CURVES = 12
#: Where an axis lies, and which it is.
PLACES = {"across": "x", "upwards": "y"}
_GREENS = [[0.0, "rgba(31,157,107,0.04)"], [1.0, "rgba(31,157,107,1)"]]


def default_axes(data: ReportData) -> tuple[str, str]:
    """x and y of the Pareto plot: the first cost among the objectives, and error or perplexity (or the second objective)."""
    names = data.objective_names
    if data.quality in names:
        costs = [n for n in names if n != data.quality] or data.costs or [data.quality]
        return costs[0], data.quality
    return names[0], names[1] if len(names) > 1 else names[0]


def pareto_figure(data: ReportData) -> charts.Figure:
    """All complete results, the sub-networks of the table with shared and with polished weights, a line through the Pareto
    front, the unpruned network, and chance.

    Each trace's `meta` holds its role and, per quantity, its numbers: the page draws other pairs of axes from them.
    """
    x, y = default_axes(data)
    front = sorted(data.front, key=lambda entry: finite(entry["values"].get(x)) or 0.0)
    polished = [_polished(entry) for entry in front if entry.get("polished")]
    best = [_polished(e) if e.get("weights") == "polished" else e for e in front if e.get("best", True)]
    unpruned = [{"key": "", "architecture": "the whole network", "values": data.unpruned["values"]}]
    # A line through the front has a meaning only where the two axes are all the objectives.
    visible = set(data.objective_names) == {x, y}
    # What is no better than chance is grey.
    bad = [entry for entry in [*front, *polished] if data.by_luck(entry["values"])]
    front, polished = ([entry for entry in some if entry not in bad] for some in (front, polished))
    groups = [
        _group(data, "trial", "trials", charts.beside_the_front(data), {"color": charts.GREY, "size": 6, "opacity": 0.4}),
        _group(data, "line", "Pareto front", best, {"color": charts.GREEN}),
        _group(data, "front", "not polished", front, {"color": charts.GREEN, "size": 9}),
        _group(data, "chance", "no better than chance", bad, {"color": charts.GREY, "size": 9}),
        _group(data, "polished", "polished", polished, {"color": charts.ORANGE, "size": 11, "symbol": "diamond"}),
        _group(data, "unpruned", "unpruned", unpruned, {"color": charts.VIOLET, "size": 15, "symbol": "star"}),
    ]
    traces = [charts.points(g, x, y, columns=charts.columns_of(g.rows, data.quantities)) for g in groups if g.rows]
    for trace in traces:
        if trace.meta["role"] == "line":
            trace.update(mode="lines", hoverinfo="skip", hovertext=None, visible=visible)
    axes: dict[str, Any] = {name: _axis(data, name) for name in data.quantities}
    return charts.scatter_figure(
        traces,
        charts.axis(x, data.metric_title),
        charts.axis(y, data.metric_title),
        meta={"x": x, "y": y, "objectives": data.objective_names, "axes": axes},
        shapes=[*(axes[x]["across"] if x in axes else []), *(axes[y]["upwards"] if y in axes else [])],
    )


def _polished(entry: Row) -> Row:
    """A member with its polished weights."""
    polished = entry["polished"]["values"] or {}
    found = {name: polished.get(name) for name in QUALITIES if name in entry["values"]}
    return {**entry, "values": {**entry["values"], **found}}


def _axis(data: ReportData, name: str) -> dict[str, object]:
    """What the page needs to draw a quantity along an axis: title, axis, and the lines that go with it on either."""
    lines: dict[str, list[object]] = {place: [] for place in PLACES}
    if name == data.quality and data.chance_value is not None:
        side = "bottom" if data.doubt else "top"  # where the networks are, there is room
        lines = {place: [charts.level(axis, data.chance_value, "chance", side)] for place, axis in PLACES.items()}
    return {"title": title(name), "axis": charts.axis(name, data.metric_title), **lines}


def _group(data: ReportData, role: str, name: str, rows: list[Row], marker: dict[str, object]) -> charts.Group:
    headings = [f"trial {row['number']} ({row['origin']})" if role == "trial" else name for row in rows]
    hovers = [
        charts.hover(heading, row["architecture"], row["values"], data.quantities, data.unpruned["values"])
        + ("<br><b>no better than chance</b>" if data.by_luck(row["values"]) else "")
        for heading, row in zip(headings, rows, strict=True)
    ]
    return charts.Group(role, name, rows, hovers, marker, {"color": charts.GREEN, "width": 2, "shape": "hv"})


def curve_figures(data: ReportData) -> dict[str, charts.Figure]:
    """Per training run (at most `MOST_CURVES`), its losses and errors over the steps."""
    figures = {}
    for name, rows in list(data.curves.items())[:MOST_CURVES]:
        columns = dict.fromkeys(c for row in rows for c in row if "loss" in c or "error" in c)
        traces = []
        for i, column in enumerate(columns):
            known = [row for row in rows if column in row]
            steps, values = [row["step"] for row in known], [finite(row[column]) for row in known]
            style = {"color": charts.COLOURS[i % len(charts.COLOURS)], "width": 1.8}
            shown = {"mode": "lines" if len(known) > 1 else "markers", "hovertemplate": "step %{x}: %{y:.4g}<extra></extra>"}
            traces.append(charts.line(steps, values, style, name=html.escape(column.replace("_", " ")), **shown))
        if traces:
            several = len(traces) > 1
            figures[name] = charts.figure(
                traces,
                xaxis=charts.plain_axis("step"),
                yaxis={"zeroline": False, "automargin": True} | ({} if several else {"title": {"text": next(iter(columns))}}),
                margin={"l": 56, "r": 12, "t": 36 if several else 8, "b": 44},
                **charts.LEGEND | {"showlegend": several},
            )
    return figures


def heads_figure(data: ReportData) -> charts.Figure | None:
    """The importance of every head: layers down, original heads across. None where nothing was ordered."""
    rows = rows_of.head_scores(data)
    if not rows:
        return None
    trace = charts.graph_objects().Heatmap(
        z=[[cell["score"] for cell in row] for row in rows],
        text=[
            [f"layer {i}, head {c['head']}<br>place {c['place'] + 1} of {len(row)}<br>score {c['score']:.4g}" for c in row]
            for i, row in enumerate(rows)
        ],
        hoverinfo="text",
        colorscale=_GREENS,
        xgap=2,
        ygap=2,
        colorbar={"title": {"text": "score"}, "thickness": 12, "outlinewidth": 0, "tickformat": "~g"},
    )
    return charts.figure(
        [trace],
        xaxis=charts.plain_axis("head (original index)", showgrid=False, dtick=_step(len(rows[0]))),
        yaxis=charts.plain_axis("layer", showgrid=False, dtick=_step(len(rows)), autorange="reversed"),
    )


def _step(count: int) -> int:
    return 1 if count <= 16 else 2 if count <= 32 else 8


def units_figure(data: ReportData) -> charts.Figure | None:
    """Per layer, how much of the units' importance the first of them hold. None where nothing was ordered."""
    curves = rows_of.unit_curves(data)
    if not curves:
        return None
    traces = []
    for i, curve in enumerate(curves):
        depth = i / max(len(curves) - 1, 1)
        traces.append(
            charts.line(
                [p["share"] for p in curve],
                [p["importance"] for p in curve],
                {"color": f"hsl({150 + 110 * depth:.0f},55%,{46 + 8 * depth:.0f}%)", "width": 1.8},
                name=f"layer {i}",
                customdata=[p["units"] for p in curve],
                hovertemplate=f"layer {i}: the first %{{customdata}} units hold %{{y:.1%}}<extra></extra>",
            )
        )
    return charts.figure(
        traces,
        xaxis=charts.plain_axis("share of the units, most important first", tickformat=".0%"),
        yaxis=charts.plain_axis("share of the importance", tickformat=".0%", range=[0, 1.02]),
        showlegend=len(curves) <= 16,
        legend={"font": {"size": 11}},
    )


def prune_html(data: ReportData) -> str:
    """The page. Raises MissingExtraError where plotly or jinja2 is not installed."""
    unpruned = rows_of.unpruned_row(data)
    figures = {
        "pareto": pareto_figure(data),
        "hypervolume": charts.hypervolume_figure(data),
        "curves": curve_figures(data),
        "heads": heads_figure(data),
        "units": units_figure(data),
    }
    return run_page(
        "prune.html",
        data,
        figures,
        functools.partial(_entry, data),
        summary=rows_of.summary(data),
        budget_title="layers" if data.budget == "body_parameters" else title(data.budget or ""),
        cards=rows_of.cards(data),
        unpruned=unpruned,
        how=score_shown(data.metric),
        beside=unpruned["perplexity"] is not None and data.quality != PERPLEXITY,
        front=rows_of.front_table(data),
        formats=formats_table(data.formats) if data.formats else None,
        curves_left_out=max(0, len(data.curves) - MOST_CURVES),
    )


def _entry(data: ReportData, entry: Row) -> Row:
    """What the page shows of one member of the front beside its row."""
    return {
        "gain": entry.get("gain_text", ""),
        "kept": rows_of.kept_of(entry),
        "thumbnail": pruned_picture(entry["plan"], data.shape, compact=True),
        "picture": pruned_picture(entry["plan"], data.shape),
        "before_after": rows_of.before_after(data, entry),
        "metrics": rows_of.metrics_table(data, entry),
        "heads": rows_of.kept_heads(data, entry["plan"]),
    }
