"""Plotly figures as plain JSON, drawn from the tables. Colours of text and grid are the page's: they follow its theme."""

from __future__ import annotations

import html
import json
import math
import textwrap
from typing import TYPE_CHECKING, Any

from secateur.errors import MissingExtraError
from secateur.report import importance, tables
from secateur.report.data import ReportData, Row, RunData, kind, title
from secateur.report.numbers import show

if TYPE_CHECKING:
    from collections.abc import Sequence

Figure = dict[str, Any]

#: Middle tones: legible on white and on black.
GREY, GREEN, ORANGE, VIOLET, BLUE = "#8b98a9", "#1f9d6b", "#e07b1a", "#8b5cf6", "#3b82c4"
MOST_CURVES = 12
#: Above the plot, from the left.
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
_GREENS = [[0.0, "rgba(31,157,107,0.04)"], [1.0, "rgba(31,157,107,1)"]]


def graph_objects() -> Any:
    """Plotly's traces. Raises MissingExtraError where it is not installed."""
    try:
        import plotly.graph_objects
    except ImportError:
        raise MissingExtraError("plotly", "report") from None
    return plotly.graph_objects


def plotly_javascript() -> str:
    """The source of plotly.js, to be embedded."""
    graph_objects()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def plain_figure(traces: Sequence[Any], **layout: Any) -> Figure:
    """The figure as JSON without plotly's own template: the page sets fonts, grid and background."""
    defaults = {"margin": {"l": 64, "r": 16, "t": 12, "b": 52}, "hoverlabel": {"align": "left"}, "showlegend": False}
    figure = graph_objects().Figure(data=list(traces), layout=defaults | layout)
    plain: Figure = json.loads(figure.to_json())
    plain["layout"].pop("template", None)
    return plain


def axis(quantity: str, metric: str = "score") -> dict[str, Any]:
    """An axis for a quantity: its name, and ticks like 1.2M, 12ms, 34MB or 0.15."""
    name = f"error (1 − {metric}), validation" if quantity == "error" else title(quantity)
    suffix = {"seconds": "s", "bytes": "B"}.get(kind(quantity), "")
    tickformat = "~s" if kind(quantity) in ("seconds", "bytes", "count") else "~g"
    return {"title": {"text": name}, "tickformat": tickformat, "ticksuffix": suffix, "zeroline": False, "automargin": True}


def finite(value: Any) -> float | None:
    """The number, or None where it is none that can be drawn."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def hover(heading: str, architecture: str, values: dict[str, Any], names: Sequence[str], whole: dict[str, Any]) -> str:
    """What is shown over a point: its name, its architecture, its values, those of `whole` (the unpruned network) as shares."""
    lines = [f"<b>{html.escape(heading)}</b>", *(html.escape(t) for t in textwrap.wrap(architecture, 56))]
    for name in names:
        value = values.get(name)
        if value is not None:
            part = tables.share(value, whole.get(name))
            of = f" ({show(part, 'share')} of unpruned)" if part is not None and name != "error" else ""
            lines.append(f"{html.escape(title(name))}: {show(value, kind(name))}{of}")
    return "<br>".join(lines)


def default_axes(data: ReportData) -> tuple[str, str]:
    """x and y of the Pareto plot: the first cost among the objectives, and the error (or the second objective)."""
    names = data.objective_names
    if "error" in names:
        costs = [n for n in names if n != "error"] or data.costs or ["error"]
        return costs[0], "error"
    return names[0], names[1] if len(names) > 1 else names[0]


def pareto_figure(data: ReportData) -> Figure:
    """All complete results, the front, its polished members and the unpruned network.

    Each trace's `meta` holds its role and, per quantity, its numbers: the page draws other pairs of axes from them.
    """
    x, y = default_axes(data)
    on_front = {entry["key"] for entry in data.front}
    others = [t for t in data.trials if t["status"] == "complete" and t["key"] not in on_front]
    front = sorted(data.front, key=lambda entry: finite(entry["values"].get(x)) or 0.0)
    polished = [
        {**entry, "values": {**entry["values"], "error": (entry["polished"]["values"] or {}).get("error")}}
        for entry in front
        if entry.get("polished")
    ]
    # A line through the front has a meaning only where the two axes are all the objectives.
    line = set(data.objective_names) == {x, y}
    unpruned = [{"key": "", "architecture": "the whole network", "values": data.unpruned["values"]}]
    traces = [
        _points(data, others, "trial", "trials", {"color": GREY, "size": 6, "opacity": 0.4}, "markers"),
        _points(data, front, "front", "Pareto front", {"color": GREEN, "size": 9}, "lines+markers" if line else "markers"),
        _points(data, polished, "polished", "polished", {"color": ORANGE, "size": 11, "symbol": "diamond"}, "markers"),
        _points(data, unpruned, "unpruned", "unpruned", {"color": VIOLET, "size": 15, "symbol": "star"}, "markers"),
    ]
    return plain_figure(
        [t for t in traces if t is not None],
        xaxis=axis(x, data.metric),
        yaxis=axis(y, data.metric),
        hovermode="closest",
        showlegend=True,
        legend=LEGEND,
        margin={"l": 64, "r": 16, "t": 40, "b": 52},
        meta={
            "x": x,
            "y": y,
            "objectives": data.objective_names,
            "axes": {name: {"title": title(name), "axis": axis(name, data.metric)} for name in data.quantities},
        },
    )


def _points(data: ReportData, rows: list[Row], role: str, name: str, marker: dict[str, Any], mode: str) -> Any:
    if not rows:
        return None
    x, y = default_axes(data)
    columns = {q: [finite(row["values"].get(q)) for row in rows] for q in data.quantities}
    headings = [f"trial {row['number']} ({row['origin']})" if role == "trial" else name for row in rows]
    return graph_objects().Scatter(
        x=columns.get(x, []),
        y=columns.get(y, []),
        name=name,
        mode=mode,
        marker=marker,
        line={"color": GREEN, "width": 2, "shape": "hv"},
        customdata=[row["key"] for row in rows],
        hovertext=[
            hover(h, row["architecture"], row["values"], data.quantities, data.unpruned["values"])
            for h, row in zip(headings, rows, strict=True)
        ],
        hoverinfo="text",
        meta={"role": role, "columns": columns},
    )


def hypervolume_figure(data: RunData) -> Figure | None:
    """Hypervolume over the trials asked for; None where none is complete."""
    rows = tables.hypervolume_rows(data)
    if not rows:
        return None
    trace = graph_objects().Scatter(
        x=[row["trial"] for row in rows],
        y=[row["hypervolume"] for row in rows],
        mode="lines",
        line={"color": GREEN, "width": 2, "shape": "hv"},
        hovertemplate="after %{x} trials: %{y:.4f}<extra></extra>",
    )
    return plain_figure(
        [trace],
        xaxis={"title": {"text": "trials"}, "zeroline": False},
        yaxis={"title": {"text": "hypervolume"}, "zeroline": False, "rangemode": "tozero"},
    )


def curve_figures(data: ReportData) -> dict[str, Figure]:
    """Per training run (at most `MOST_CURVES`), its losses and errors over the steps."""
    figures = {}
    for name, rows in list(data.curves.items())[:MOST_CURVES]:
        columns = dict.fromkeys(c for row in rows for c in row if "loss" in c or "error" in c)
        colours = (GREEN, ORANGE, VIOLET, BLUE, GREY)
        traces = []
        for i, column in enumerate(columns):
            points = [(row["step"], finite(row.get(column))) for row in rows if column in row]
            traces.append(
                graph_objects().Scatter(
                    x=[step for step, _ in points],
                    y=[value for _, value in points],
                    name=html.escape(column.replace("_", " ")),
                    mode="lines" if len(points) > 1 else "markers",
                    line={"color": colours[i % len(colours)], "width": 1.8},
                    hovertemplate="step %{x}: %{y:.4g}<extra></extra>",
                )
            )
        if traces:
            figures[name] = plain_figure(
                traces,
                xaxis={"title": {"text": "step"}, "zeroline": False},
                yaxis={
                    "zeroline": False,
                    "automargin": True,
                    **({"title": {"text": next(iter(columns))}} if len(traces) == 1 else {}),
                },
                showlegend=len(traces) > 1,
                legend=LEGEND,
                margin={"l": 56, "r": 12, "t": 36 if len(traces) > 1 else 8, "b": 44},
            )
    return figures


def heads_figure(data: ReportData) -> Figure | None:
    """The importance of every head: layers down, original heads across. None where nothing was ordered."""
    rows = importance.head_scores(data)
    if not rows:
        return None
    trace = graph_objects().Heatmap(
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
    return plain_figure(
        [trace],
        xaxis={"title": {"text": "head (original index)"}, "showgrid": False, "zeroline": False, "dtick": _step(len(rows[0]))},
        yaxis={
            "title": {"text": "layer"},
            "autorange": "reversed",
            "showgrid": False,
            "zeroline": False,
            "dtick": _step(len(rows)),
        },
    )


def _step(count: int) -> int:
    return 1 if count <= 16 else 2 if count <= 32 else 8


def units_figure(data: ReportData) -> Figure | None:
    """Per layer, how much of the units' importance the first of them hold. None where nothing was ordered."""
    curves = importance.unit_curves(data)
    if not curves:
        return None
    traces = []
    for i, curve in enumerate(curves):
        depth = i / max(len(curves) - 1, 1)
        colour = f"hsl({150 + 110 * depth:.0f},55%,{46 + 8 * depth:.0f}%)"
        traces.append(
            graph_objects().Scatter(
                x=[p["share"] for p in curve],
                y=[p["importance"] for p in curve],
                customdata=[p["units"] for p in curve],
                name=f"layer {i}",
                mode="lines",
                line={"color": colour, "width": 1.8},
                hovertemplate=f"layer {i}: the first %{{customdata}} units hold %{{y:.1%}}<extra></extra>",
            )
        )
    return plain_figure(
        traces,
        xaxis={"title": {"text": "share of the units, most important first"}, "tickformat": ".0%", "zeroline": False},
        yaxis={"title": {"text": "share of the importance"}, "tickformat": ".0%", "zeroline": False, "range": [0, 1.02]},
        showlegend=len(curves) <= 16,
        legend={"font": {"size": 11}},
    )
