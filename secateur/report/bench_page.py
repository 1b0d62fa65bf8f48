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
#: Pixels of a figure whose legend has a few names, and of each further one.
_HEIGHT, _FEW, _NAME = 320, 8, 12
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


def courses_figure(
    series: Series, x: str, y: str, order: Sequence[str] = (), *, log: bool = False, late: bool = False
) -> Figure:
    """A line per name with a band around it. `order`: all names there may be, so that each has its colour in every figure.

    On a logarithmic axis, what is below half of the least value of a line above 0 stands there. `late`: the axis has room for
    what comes after the first tenth.
    """
    names = list(order or series)
    lines = [np.asarray(middle, dtype=float) for _, middle, _, _ in series.values()]
    positive = np.concatenate([middle[middle > 0] for middle in lines]) if lines else np.zeros(0)
    least = (positive.min() / 2 if len(positive) else 1e-4) if log else -np.inf
    more = {"range": _range_late(series)} if late and lines else {}
    traces = []
    for name in names:
        if name not in series:
            continue
        at, middle, low, high = (np.asarray(values, dtype=float) for values in series[name])
        at, middle, low, high = (values[np.isfinite(middle)] for values in (at, middle, low, high))
        look = style(names.index(name))
        middle, low, high = (np.maximum(values, least) for values in (middle, low, high))
        band = {"x": [*at, *at[::-1]], "y": [*high, *low[::-1]]}
        shade = {
            "fill": "toself",
            "fillcolor": look["color"],
            "opacity": 0.15 if len(series) < 5 else 0.09,
            "line": {"width": 0},
            "hoverinfo": "skip",
        }
        traces.append(graph_objects().Scatter(**band, **shade, showlegend=False, legendgroup=name))
        said = {"name": escape(name), "legendgroup": name, "hovertemplate": "%{x:.3g}: %{y:.4f}"}
        traces.append(line(at.tolist(), middle.tolist(), look, **said))
    return figure(
        traces,
        xaxis=plain_axis(x),
        yaxis=plain_axis(y, type="log" if log else "linear", automargin=True, **more),
        margin=MARGIN | {"t": 40},
        **({"height": _HEIGHT + _NAME * (len(series) - _FEW)} if len(series) > _FEW else {}),
        **LEGEND,
    )


def _range_late(series: Series) -> list[float] | None:
    """From the least to the largest that the lines and bands reach after a tenth of the way, with some room; None where all is
    the same."""
    ends = []
    for at, *values in series.values():
        after = np.asarray(at) >= 0.1 * np.max(at)
        ends += [number for several in values for number in np.asarray(several)[after] if np.isfinite(number)]
    room = 0.05 * (max(ends) - min(ends)) if ends else 0.0
    return [min(ends) - room, max(ends) + room] if room else None


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
