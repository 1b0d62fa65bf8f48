"""Pages of benches: sections of a table and figures each, and the figures that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from secateur.report.charts import COLOURS, LEGEND, MARGIN, Figure, figure, graph_objects, level, line, plain_axis
from secateur.report.page import page
from secateur.report.rows import Table

#: Lines beyond the colours there are: the same colours, dashed.
_DASHES = ("solid", "dash", "dot", "dashdot")
#: What is shown of 0 where the axis is logarithmic.
LEAST = 1e-4
#: Name → x (n,), what is drawn as a line (n,), and the lower and upper ends (n,) of the band around it.
Series = Mapping[str, tuple[Any, Any, Any, Any]]


@dataclass(frozen=True)
class Section:
    """A part of a page: its figures by their titles."""

    title: str
    caption: str = ""
    table: Table | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)


def bench_html(title: str, notes: Sequence[str], sections: Sequence[Section]) -> str:
    """The page. Raises MissingExtraError where plotly or jinja2 is not installed."""
    figures = {f"part-{i}": dict(section.figures) for i, section in enumerate(sections)}
    return page("bench.html", title, figures, remarks=notes, sections=sections)


def style(place: int) -> dict[str, Any]:
    """The colour and dash of the line in this place."""
    return {"color": COLOURS[place % len(COLOURS)], "dash": _DASHES[place // len(COLOURS) % len(_DASHES)], "width": 1.8}


def around(mean: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A mean with a band of the same width on both sides, as `Series` has them."""
    return mean, mean - spread, mean + spread


def courses_figure(series: Series, x: str, y: str, order: Sequence[str] = (), *, log: bool = False) -> Figure:
    """A line per name with a band around it. `order`: all names there may be, so that each has its colour in every figure."""
    names = list(order or series)
    traces = []
    for name in names:
        if name not in series:
            continue
        at, middle, low, high = (np.asarray(values, dtype=float) for values in series[name])
        at, middle, low, high = (values[np.isfinite(middle)] for values in (at, middle, low, high))
        look = style(names.index(name))
        middle, low, high = (np.maximum(values, LEAST if log else -np.inf) for values in (middle, low, high))
        band = {"x": [*at, *at[::-1]], "y": [*high, *low[::-1]]}
        shade = {"fill": "toself", "fillcolor": look["color"], "opacity": 0.15, "line": {"width": 0}, "hoverinfo": "skip"}
        traces.append(graph_objects().Scatter(**band, **shade, showlegend=False, legendgroup=name))
        said = {"name": escape(name), "legendgroup": name, "hovertemplate": "%{x:.3g}: %{y:.4f}"}
        traces.append(line(at.tolist(), middle.tolist(), look, **said))
    return figure(
        traces,
        xaxis=plain_axis(x),
        yaxis=plain_axis(y, type="log" if log else "linear"),
        margin=MARGIN | {"t": 40},
        **LEGEND,
    )


def boxes_figure(groups: Mapping[str, Sequence[float]], y: str) -> Figure:
    """A box per name with its points."""
    traces = [
        graph_objects().Box(y=list(values), name=escape(name), boxpoints="all", marker={"color": style(i)["color"], "size": 4})
        for i, (name, values) in enumerate(groups.items())
    ]
    return figure(traces, xaxis=plain_axis(""), yaxis=plain_axis(y))


def histogram_figure(shares: Sequence[float]) -> Figure:
    """How often shares occur, in 25 bins between the smallest there are and 1."""
    trace = graph_objects().Histogram(x=list(shares), nbinsx=25, marker={"color": COLOURS[0]})
    return figure([trace], xaxis=plain_axis("share of all parameters", range=[0, 1.02]), yaxis=plain_axis("sub-networks"))


def levels_figure(series: Series, order: Sequence[str]) -> Figure:
    """A line per method over per cent of the parameters, with dashed lines at all, 95 % and 90 % of the unpruned score."""
    drawn = courses_figure(series, "% of the body's parameters", "share of the unpruned score", order)
    drawn["layout"]["shapes"] = [level("y", at, f"{at:.0%}") for at in (1.0, 0.95, 0.9)]
    return drawn


def fronts_figure(fronts: Mapping[str, tuple[Sequence[float], Sequence[float]]], whole: float, order: Sequence[str]) -> Figure:
    """A step per method through its front's points, and the unpruned network."""
    traces = []
    for name, (shares, errors) in fronts.items():
        look = style(list(order).index(name) if name in order else len(order))
        said = {"name": escape(name), "mode": "lines+markers", "hovertemplate": "%{x:.1%}: %{y:.4f}"}
        traces.append(line(shares, errors, {**look, "shape": "hv"}, **said))
    star = {"color": COLOURS[-1], "size": 12, "symbol": "star"}
    traces.append(line([1.0], [whole], {}, name="unpruned", mode="markers", marker=star))
    xaxis = plain_axis("share of the body's parameters", range=[0, 1.05])
    return figure(traces, xaxis=xaxis, yaxis=plain_axis("error on test data"), margin=MARGIN | {"t": 40}, **LEGEND)
