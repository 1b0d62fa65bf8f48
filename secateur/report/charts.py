"""Plotly figures as plain JSON: the parts that charts are made of, and the chart that every run has.

Colours of text and grid are the page's: they follow its theme.
"""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from secateur.errors import MissingExtraError
from secateur.objectives import QUALITIES
from secateur.report.data import Row, RunData
from secateur.report.numbers import finite, show, shown_as, title
from secateur.report.rows import hypervolume_rows, share

Figure = dict[str, Any]

#: Middle tones: legible on white and on black.
GREY, GREEN, ORANGE, VIOLET, BLUE = "#8b98a9", "#1f9d6b", "#e07b1a", "#8b5cf6", "#3b82c4"
COLOURS = (GREEN, ORANGE, VIOLET, BLUE, GREY)
#: A legend above the plot, from the left, with the room that it needs.
LEGEND = {"showlegend": True, "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}}
MARGIN = {"l": 64, "r": 16, "t": 12, "b": 52}


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


def figure(traces: Sequence[Any], **layout: Any) -> Figure:
    """The figure as JSON without plotly's own template: the page sets fonts, grid and background."""
    defaults = {"margin": MARGIN, "hoverlabel": {"align": "left"}, "showlegend": False}
    drawn = graph_objects().Figure(data=list(traces), layout=defaults | layout)
    plain: Figure = json.loads(drawn.to_json())
    plain["layout"].pop("template", None)
    return plain


def scatter_figure(traces: Sequence[Any], xaxis: Mapping[str, Any], yaxis: Mapping[str, Any], **layout: Any) -> Figure:
    """Points with a legend above them."""
    return figure(traces, xaxis=xaxis, yaxis=yaxis, hovermode="closest", margin=MARGIN | {"t": 40}, **LEGEND, **layout)


def axis(quantity: str, metric: str = "score") -> dict[str, Any]:
    """An axis for a quantity: its name, and ticks like 1.2M, 12ms, 34MB or 0.15."""
    named = {"error": f"error (1 − {metric}), validation", "perplexity": "perplexity, validation"}
    name = named.get(quantity, title(quantity))
    suffix = {"seconds": "s", "bytes": "B"}.get(shown_as(quantity), "")
    tickformat = "~s" if shown_as(quantity) in ("seconds", "bytes", "count") else "~g"
    return {"title": {"text": name}, "tickformat": tickformat, "ticksuffix": suffix, "zeroline": False, "automargin": True}


def level(axis: str, value: float, text: str, side: str = "top") -> dict[str, Any]:
    """A dashed line across the plot at a value of the `axis` x or y, named at its end; `side`: of the name, at the line."""
    along = "y" if axis == "x" else "x"
    ends = {f"{axis}0": value, f"{axis}1": value, f"{along}0": 0, f"{along}1": 1, f"{along}ref": "paper"}
    label = {"text": text, "textposition": "end", "yanchor": side, "font": {"color": GREY, "size": 12}}
    return {"type": "line", **ends, "line": {"color": GREY, "width": 1.5, "dash": "dash"}, "label": label, "layer": "below"}


def plain_axis(name: str, **more: Any) -> dict[str, Any]:
    """An axis for anything else."""
    return {"title": {"text": name}, "zeroline": False, **more}


def hover(heading: str, architecture: str, values: Row, names: Sequence[str], whole: Mapping[str, Any] | None = None) -> str:
    """What is shown over a point: its name, its architecture, its values, those of `whole` (the unpruned network) as shares."""
    lines = [f"<b>{html.escape(heading)}</b>", *(html.escape(t) for t in textwrap.wrap(architecture, 56))]
    for name in names:
        value = values.get(name)
        if value is not None:
            part = share(value, (whole or {}).get(name))
            of = f" ({show(part, 'share')} of unpruned)" if part is not None and name not in QUALITIES else ""
            lines.append(f"{html.escape(title(name))}: {show(value, shown_as(name))}{of}")
    return "<br>".join(lines)


@dataclass(frozen=True)
class Group:
    """Rows that are drawn alike: `role` is what the page's script knows them by, `line` joins them where `joined`."""

    role: str
    name: str
    rows: Sequence[Row]
    hover: Sequence[str]
    marker: dict[str, Any]
    line: dict[str, Any]
    joined: bool = False


def columns_of(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[float | None]]:
    """The rows' values by name, with None for what cannot be drawn."""
    return {name: [finite(row["values"].get(name)) for row in rows] for name in names}


def points(group: Group, x: str, y: str, z: str = "", **meta: Any) -> Any:
    """A trace of the group's rows by their values of these names, in space where `z` is named."""
    places = {place: name for place, name in (("x", x), ("y", y), ("z", z)) if name}
    columns = columns_of(group.rows, list(places.values()))
    return dots(
        {place: columns[name] for place, name in places.items()},
        group.name,
        group.marker,
        group.hover,
        customdata=[row.get("key", "") for row in group.rows],
        mode="lines+markers" if group.joined else "markers",
        line=group.line,
        meta={"role": group.role, **meta},
    )


def dots(at: Mapping[str, Sequence[Any]], name: str, marker: Mapping[str, Any], hovers: Sequence[str], **more: Any) -> Any:
    """A trace of single points: `at` has their x and y, and z where they stand in space."""
    trace = graph_objects().Scatter3d if "z" in at else graph_objects().Scatter
    return trace(**{**at, "name": name, "mode": "markers", "marker": marker, "hovertext": hovers, "hoverinfo": "text", **more})


def line(x: Sequence[Any], y: Sequence[Any], style: Mapping[str, Any], **more: Any) -> Any:
    """A trace through these points; a style's colour and width, a shape or a dash where it has one."""
    return graph_objects().Scatter(**{"x": x, "y": y, "mode": "lines", "line": dict(style), **more})


def beside_the_front(data: RunData) -> list[Row]:
    """The complete trials that are not on the front."""
    on_front = {entry["key"] for entry in data.front}
    return [t for t in data.trials if t["status"] == "complete" and t["key"] not in on_front]


def hypervolume_figure(data: RunData) -> Figure | None:
    """Hypervolume over the trials asked for; None where none is complete."""
    rows = hypervolume_rows(data)
    if not rows:
        return None
    trace = line(
        [row["trial"] for row in rows],
        [row["hypervolume"] for row in rows],
        {"color": GREEN, "width": 2, "shape": "hv"},
        hovertemplate="after %{x} trials: %{y:.4f}<extra></extra>",
    )
    return figure([trace], xaxis=plain_axis("trials"), yaxis=plain_axis("hypervolume", rangemode="tozero"))
