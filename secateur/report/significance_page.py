"""Figures of significance: a critical-difference plot (Demšar 2006) and a matrix of p-values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from secateur.report.bench_page import style
from secateur.report.charts import GREEN, GREY, MARGIN, ORANGE, Figure, figure, graph_objects, line, plain_axis

#: What is called significant.
LEVEL = 0.05
#: Between two bars, as a share of the distance between two names.
_BAR = 0.45


def critical_difference_figure(
    ranks: Mapping[str, float], distance: float, groups: Sequence[Sequence[str]], order: Sequence[str]
) -> Figure:
    """Average ranks, the best first and on the left: a line from each rank on the axis down to its name, bars that join those
    which do not differ, and above the axis the critical difference."""
    below = _BAR * (len(groups) + 1)
    least, most = 1.0, float(max(len(ranks), 1.0 + distance))
    traces = []
    for place, (name, rank) in enumerate(ranks.items()):
        depth = -(below + place)
        look = style(list(order).index(name)) | {"width": 1.8, "dash": "solid"}
        told = {"hovertemplate": f"{escape(name)}: {rank:.2f}<extra></extra>", "mode": "lines+markers"}
        traces.append(line([rank, rank, least], [0, depth, depth], look, **told, marker={"size": [7, 0, 0]}))
    for place, group in enumerate(groups, 1):
        ends = [ranks[group[0]] - 0.02 * most, ranks[group[-1]] + 0.02 * most]
        traces.append(line(ends, [-_BAR * place] * 2, {"color": GREY, "width": 5}, hoverinfo="skip"))
    traces.append(line([least, least + distance], [0.9] * 2, {"color": ORANGE, "width": 3}, hoverinfo="skip"))
    said = {"text": f"critical difference {distance:.2f}", "font": {"size": 12}, "showarrow": False}
    note = {"x": least, "y": 0.95, "xanchor": "left", "yanchor": "bottom", **said}
    names = [f"{escape(name)}  {rank:.2f}" for name, rank in ranks.items()]
    places = [-(below + place) for place in range(len(ranks))]
    return figure(
        traces,
        xaxis=plain_axis("", side="top", range=[least - 0.03 * most, most * 1.03], showline=True, position=0, anchor="free"),
        yaxis=plain_axis("", tickvals=places, ticktext=names, showgrid=False, automargin=True, range=[places[-1] - 0.6, 2]),
        annotations=[note],
        margin=MARGIN | {"t": 24, "b": 12},
    )


def significance_figure(names: Sequence[str], p: Mapping[tuple[str, str], tuple[float, bool]]) -> Figure:
    """A cell per searcher (row) and other (column): (p-value, whether the row is the better one). Green where it is better,
    orange where it is worse, grey where the two do not differ."""
    shown, text = [], []
    for row in names:
        pairs = [p.get((row, column)) for column in names]
        shown.append([None if pair is None else _side(*pair) for pair in pairs])
        text.append(["" if pair is None else _p(pair[0]) for pair in pairs])
    labels = [escape(name) for name in names]
    colours = [[0.0, ORANGE], [0.5, GREY], [1.0, GREEN]]
    trace = graph_objects().Heatmap(
        x=labels, y=labels, z=shown, text=text, texttemplate="%{text}", colorscale=colours, zmin=-1, zmax=1, showscale=False,
        xgap=2, ygap=2, opacity=0.8, hovertemplate="%{y} and %{x}: %{text}<extra></extra>",
    )  # fmt: skip
    axis = {"automargin": True, "showgrid": False}
    yaxis = plain_axis("", **axis, autorange="reversed")
    return figure([trace], xaxis=plain_axis("", **axis, side="top", tickangle=-40), yaxis=yaxis, margin=MARGIN | {"b": 12})


def _side(p: float, better: bool) -> float:
    return 0.0 if p >= LEVEL else 1.0 if better else -1.0


def _p(p: float) -> str:
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
