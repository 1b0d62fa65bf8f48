"""Figures of significance: a critical-difference plot (Demšar 2006) and a matrix of p-values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from secateur.report.bench_page import style
from secateur.report.charts import GREEN, GREY, ORANGE, Figure, figure, graph_objects, line, plain_axis

#: What is called significant.
LEVEL = 0.05
#: Between two bars, as a share of the distance between two names.
_BAR = 0.45
#: Pixels from one name to the next.
_ROW = 24


def critical_difference_figure(
    ranks: Mapping[str, float], distance: float, groups: Sequence[Sequence[str]], order: Sequence[str]
) -> Figure:
    """Average ranks, the best first and on the left: a line from each rank on the axis down to its name, bars that join those
    which do not differ, and above the axis the critical difference."""
    most = len(ranks)
    width = max(most - 1.0, distance)
    places = [-(_BAR * len(groups) + 0.8 + place) for place in range(most)]
    axis = {"color": GREY, "width": 1.5}
    traces = [line([1, most], [0, 0], axis, hoverinfo="skip")]
    traces += [line([tick, tick], [0, 0.25], axis, hoverinfo="skip") for tick in range(1, most + 1)]
    for place, (name, rank) in zip(places, ranks.items(), strict=True):
        look = {"color": style(list(order).index(name))["color"], "width": 1.8}
        told = {"hovertemplate": f"{escape(name)}: {rank:.2f}<extra></extra>", "mode": "lines+markers"}
        traces.append(line([rank, rank, 1 - width], [0, place, place], look, **told, marker={"size": [7, 0, 0]}))
    for place, group in enumerate(groups, 1):
        ends = [ranks[group[0]] - 0.015 * width, ranks[group[-1]] + 0.015 * width]
        traces.append(line(ends, [-_BAR * place] * 2, {"color": GREY, "width": 5}, hoverinfo="skip"))
    traces.append(line([1, 1 + distance], [1.6] * 2, {"color": ORANGE, "width": 3}, hoverinfo="skip"))
    text = {"showarrow": False, "font": {"size": 12}, "yanchor": "bottom"}
    notes = [{"x": tick, "y": 0.25, "text": str(tick), **text} for tick in range(1, most + 1)]
    notes.append({"x": 1, "y": 1.65, "xanchor": "left", "text": f"critical difference {distance:.2f}", **text})
    names = [f"{escape(name)}  {rank:.2f}" for name, rank in ranks.items()]
    hidden = {"showgrid": False, "zeroline": False}
    yaxis = {**hidden, "tickvals": places, "ticktext": names, "automargin": True, "range": [places[-1] - 0.6, 2.8]}
    return figure(
        traces,
        xaxis={**hidden, "visible": False, "range": [1 - 0.06 * width, 1 + 1.04 * width]},
        yaxis=yaxis,
        annotations=notes,
        margin={"l": 8, "r": 16, "t": 4, "b": 4},
        height=round(40 + _ROW * (2.8 - places[-1] + 0.6)),
    )


class Cell(NamedTuple):
    """Of a searcher and another: the p-value, whether the first is the better one, and what is told of the two."""

    p: float
    better: bool
    told: str

    @property
    def side(self) -> float:
        return 0.0 if self.p >= LEVEL else 1.0 if self.better else -1.0

    def __str__(self) -> str:
        return "<.001" if self.p < 0.001 else f"{self.p:.3f}".removeprefix("0")


def significance_figure(names: Sequence[str], cells: Mapping[tuple[str, str], Cell]) -> Figure:
    """A cell per searcher (row) and other (column): green where the first is better, orange where it is worse, grey where the
    two do not differ."""
    rows = [[cells.get((row, column)) for column in names] for row in names]
    labels = [escape(name) for name in names]
    trace = graph_objects().Heatmap(
        x=labels,
        y=labels,
        z=[[None if cell is None else cell.side for cell in row] for row in rows],
        text=[["" if cell is None else str(cell) for cell in row] for row in rows],
        customdata=[["" if cell is None else escape(cell.told) for cell in row] for row in rows],
        texttemplate="%{text}",
        hovertemplate="%{customdata}<extra></extra>",
        colorscale=[[0.0, ORANGE], [0.5, GREY], [1.0, GREEN]],
        zmin=-1,
        zmax=1,
        showscale=False,
        xgap=2,
        ygap=2,
        opacity=0.8,
    )
    axis = {"automargin": True, "showgrid": False}
    xaxis, yaxis = plain_axis("", **axis, side="top", tickangle=-45), plain_axis("", **axis, autorange="reversed")
    return figure([trace], xaxis=xaxis, yaxis=yaxis, margin={"l": 8, "r": 16, "t": 8, "b": 12}, height=140 + 30 * len(names))
