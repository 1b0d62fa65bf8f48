"""The page on how proxies rank: correlations by bin, and each proxy against the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from secateur.report.charts import COLOURS, GREEN, Figure, dots, figure, line, plain_axis
from secateur.report.numbers import significant
from secateur.report.page import page
from secateur.report.rows import Column, Table

#: Lines beyond the colours there are: the same colours, dashed.
_DASHES = ("solid", "dash", "dot", "dashdot")

TITLE = "How proxies rank"
Series = Mapping[str, Sequence[tuple[float, float | None]]]


def lines_figure(series: Series, name: str) -> Figure:
    """One line per proxy over the bins (per cent, value); bins without a value are left out."""
    traces = []
    for i, (proxy, bins) in enumerate(series.items()):
        shares, values = [share for share, value in bins if value is not None], [v for _, v in bins if v is not None]
        style = {"color": COLOURS[i % len(COLOURS)], "width": 1.8, "dash": _DASHES[i // len(COLOURS) % len(_DASHES)]}
        shown = {"name": escape(proxy), "mode": "lines+markers", "hovertemplate": "%{y:.3f} at %{x} %"}
        traces.append(line(shares, values, style, **shown))
    lowest = min([0.0, *(value for bins in series.values() for _, value in bins if value is not None)])
    return figure(
        traces,
        xaxis=plain_axis("best % of the networks, by perplexity"),
        yaxis=plain_axis(name, range=[lowest, 1.02]),
        showlegend=True,
    )


def scatter_figure(scores: Sequence[float], perplexities: Sequence[float]) -> Figure:
    """A proxy's places (1 is what it likes best) against perplexities: one dot per network."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    said = [f"{significant(scores[i])}: perplexity {perplexities[i]:.4g}" for i in order]
    ranks, found = list(range(1, len(scores) + 1)), [perplexities[i] for i in order]
    trace = dots({"x": ranks, "y": found}, "", {"color": GREEN, "size": 5, "opacity": 0.65}, said)
    margin = {"l": 52, "r": 8, "t": 4, "b": 40}
    return figure([trace], xaxis=plain_axis("place by proxy"), yaxis=plain_axis("perplexity"), margin=margin)


def proxies_html(
    title: str,
    notes: Sequence[str],
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    correlations: Series,
    ratios: Series,
    scatters: Mapping[str, tuple[Sequence[float], Sequence[float]]],
) -> str:
    """The page: the table, both figures by bin, and a scatter plot per proxy.

    Raises MissingExtraError where plotly or jinja2 is not installed.
    """
    table = Table([Column(name, name, "score") for name in header], [dict(zip(header, row, strict=True)) for row in rows])
    figures = {
        "bins": {"Spearman": lines_figure(correlations, "Spearman"), "common ratio": lines_figure(ratios, "common ratio")},
        "scatters": {name: scatter_figure(*found) for name, found in scatters.items() if found[0]},
    }
    return page("proxies.html", title, figures, remarks=notes, table=table)
