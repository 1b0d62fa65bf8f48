"""How proxies rank, as one HTML file that needs no library: correlations by bin, and each proxy against the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from secateur.report.front_picture import ticks
from secateur.report.numbers import significant

_COLOURS = ("#1f9d6b", "#e07b1a", "#7c4dff", "#3b82c4", "#c2410c", "#0f766e", "#a21caf", "#8b98a9", "#b45309", "#475569")
_INK, _MUTED, _GRID = "#1c2733", "#5b6675", "#e4e8ee"
_STYLE = (
    "body{font:15px/1.5 system-ui,Segoe UI,Helvetica,Arial,sans-serif;color:#1c2733;background:#fff;margin:2rem auto;"
    "max-width:1080px;padding:0 1rem}table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}"
    "th,td{padding:.25rem .6rem;border-bottom:1px solid #e4e8ee;text-align:right;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(240px,1fr))}"
    "p{max-width:70ch;color:#5b6675}svg text{font-family:inherit}"
)


@dataclass(frozen=True)
class Chart:
    """Where points go: pixels of the plot's area and the numbers at its edges."""

    low: tuple[float, float]
    high: tuple[float, float]
    size: tuple[int, int]
    margin: tuple[int, int, int, int] = (52, 14, 12, 38)  # left, right, top, bottom

    def at(self, x: float, y: float) -> tuple[float, float]:
        left, right, top, bottom = self.margin
        across = left + (x - self.low[0]) / (self.high[0] - self.low[0]) * (self.size[0] - left - right)
        down = self.size[1] - bottom - (y - self.low[1]) / (self.high[1] - self.low[1]) * (self.size[1] - top - bottom)
        return round(across, 1), round(down, 1)

    def frame(self, x_name: str, y_name: str, about: int = 5) -> list[str]:
        """Grid, numbers and the axes' names."""
        (left, top), (right, bottom) = self.at(self.low[0], self.high[1]), self.at(self.high[0], self.low[1])
        out = []
        for value in ticks(self.low[0], self.high[0], about):
            across, _ = self.at(value, self.low[1])
            out.append(f'<line x1="{across}" y1="{top}" x2="{across}" y2="{bottom}" stroke="{_GRID}"/>')
            out.append(_text(across, bottom + 14, f"{value:g}", "middle"))
        for value in ticks(self.low[1], self.high[1], about):
            _, down = self.at(self.low[0], value)
            out.append(f'<line x1="{left}" y1="{down}" x2="{right}" y2="{down}" stroke="{_GRID}"/>')
            out.append(_text(left - 5, down + 4, f"{value:g}", "end"))
        out.append(_text((left + right) / 2, self.size[1] - 6, x_name, "middle"))
        out.append(f'<g transform="translate(11 {(top + bottom) / 2}) rotate(-90)">{_text(0, 0, y_name, "middle")}</g>')
        return out


def _text(x: float, y: float, text: str, anchor: str, size: int = 11, colour: str = _MUTED) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(size: tuple[int, int], parts: Sequence[str], name: str) -> str:
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="100%" role="img">'
    return f"{opening}<title>{escape(name)}</title>{''.join(parts)}</svg>"


def lines_svg(series: Mapping[str, Sequence[tuple[float, float | None]]], y_name: str) -> str:
    """One line per proxy over the bins (per cent, value); bins without a value are left out. The legend is beside it."""
    values = [v for points in series.values() for _, v in points if v is not None]
    low = min(0.0, *values) if values else 0.0
    size = (1040, 60 + max(300, 15 * len(series)))
    chart = Chart((10.0, low), (100.0, 1.0), size, (52, 230, 12, 38))
    out = chart.frame("best % of the networks, by perplexity", y_name, 9)
    for i, (name, points) in enumerate(series.items()):
        colour, dash = _COLOURS[i % len(_COLOURS)], ' stroke-dasharray="5 3"' if i >= len(_COLOURS) else ""
        placed = [chart.at(share, value) for share, value in points if value is not None]
        path = " ".join(f"{x},{y}" for x, y in placed)
        named = f"<title>{escape(name)}"
        stroke = f'stroke="{colour}" stroke-width="1.8"{dash}'
        out.append(f'<polyline points="{path}" fill="none" {stroke}>{named}</title></polyline>')
        for (x, y), (share, value) in zip(placed, [p for p in points if p[1] is not None], strict=True):
            out.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}">{named}: {value:.3f} at {share:g} %</title></circle>')
        height = 20 + 15 * i
        out.append(f'<line x1="{size[0] - 218}" y1="{height}" x2="{size[0] - 196}" y2="{height}" {stroke}/>')
        out.append(_text(size[0] - 190, height + 4, name, "start", colour=_INK))
    return _svg(size, out, y_name)


def scatter_svg(name: str, scores: Sequence[float], perplexities: Sequence[float]) -> str:
    """A proxy's places (1 is what it likes best) against perplexities: one dot per network."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    place = {i: rank for rank, i in enumerate(order, 1)}
    low, high = min(perplexities), max(perplexities)
    margin = (high - low) * 0.05 or 1.0
    chart = Chart((0.0, low - margin), (len(scores) + 1.0, high + margin), (250, 210), (46, 8, 24, 34))
    out = [_text(46, 15, name, "start", 12, _INK), *chart.frame("place by proxy", "perplexity", 4)]
    for i, perplexity in enumerate(perplexities):
        x, y = chart.at(float(place[i]), perplexity)
        said = f"{significant(scores[i])}: perplexity {perplexity:.4g}"
        out.append(f'<circle cx="{x}" cy="{y}" r="2.4" fill="{_COLOURS[0]}" fill-opacity=".65"><title>{said}</title></circle>')
    return _svg((250, 210), out, name)


def proxies_html(
    title: str,
    notes: Sequence[str],
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    correlations: Mapping[str, Sequence[tuple[float, float | None]]],
    ratios: Mapping[str, Sequence[tuple[float, float | None]]],
    scatters: Mapping[str, tuple[Sequence[float], Sequence[float]]],
) -> str:
    """The page: the table, both figures by bin, and a scatter plot per proxy."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    plots = "".join(f"<div>{scatter_svg(name, *points)}</div>" for name, points in scatters.items() if points[0])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(f'<p>{escape(note)}</p>' for note in notes)}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<h2>Spearman's rank correlation within the best k %</h2>{lines_svg(correlations, 'Spearman')}"
        f"<h2>Common ratio</h2>{lines_svg(ratios, 'common ratio')}"
        f'<h2>Each proxy against the truth</h2><div class="grid">{plots}</div></body></html>\n'
    )
