"""Pages of benches: sections of a table and figures each, and the figures that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from secateur.report.charts import COLOURS, LEGEND, MARGIN, Figure, figure, graph_objects, line, plain_axis
from secateur.report.page import page
from secateur.report.rows import Table

#: Lines beyond the colours there are: the same colours, dashed.
_DASHES = ("solid", "dash", "dot", "dashdot")
#: What is shown of 0 where the axis is logarithmic.
LEAST = 1e-4
#: Name → x (n,), mean (n,) and what is drawn around it (n,).
Series = Mapping[str, tuple[Any, Any, Any]]


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


def courses_figure(series: Series, x: str, y: str, order: Sequence[str] = (), *, log: bool = False) -> Figure:
    """A line per name with a band around it. `order`: all names there may be, so that each has its colour in every figure."""
    names = list(order or series)
    traces = []
    for name in names:
        if name not in series:
            continue
        at, mean, spread = (np.asarray(values, dtype=float) for values in series[name])
        look, least = style(names.index(name)), LEAST if log else -np.inf
        mean, low = np.maximum(mean, least), np.maximum(mean - spread, least)
        band = {"x": [*at, *at[::-1]], "y": [*(mean + spread), *low[::-1]]}
        shade = {"fill": "toself", "fillcolor": look["color"], "opacity": 0.15, "line": {"width": 0}, "hoverinfo": "skip"}
        traces.append(graph_objects().Scatter(**band, **shade, showlegend=False, legendgroup=name))
        said = {"name": escape(name), "legendgroup": name, "hovertemplate": "%{x:.3g}: %{y:.4f}"}
        traces.append(line(at.tolist(), mean.tolist(), look, **said))
    return figure(
        traces,
        xaxis=plain_axis(x),
        yaxis=plain_axis(y, type="log" if log else "linear"),
        margin=MARGIN | {"t": 40},
        **LEGEND,
    )
