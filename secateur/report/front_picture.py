"""The front as one small SVG file that needs no library: for a README or a slide."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from itertools import pairwise

from secateur.report.data import DesignReportData, ReportData, Row, kind, title
from secateur.report.design_tables import number, slice_rows
from secateur.report.numbers import SPACE, show
from secateur.report.tables import front_table, unpruned_row

WIDTH, HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 24, 78, 58
_INK, _MUTED, _GRID = "#1c2733", "#5b6675", "#e4e8ee"
_GREY, _GREEN, _ORANGE, _VIOLET = "#8b98a9", "#1f9d6b", "#e07b1a", "#7c4dff"


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round numbers from `low` to `high`, about that many."""
    span = high - low
    if span <= 0:
        return [low]
    raw = span / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


Point = tuple[float, float]
#: Marks that stand for something: what draws one at (x, y), where they go, and the words of the legend.
Marks = tuple[Callable[[float, float], str], list[Point], str]


def front_svg(data: ReportData, x: str | None = None) -> str:
    """The front as a standalone SVG: `x` (default: the report's budget) as a share of the unpruned network, the score upwards.

    The scores are those on validation data: shared weights in green, polished in orange, the unpruned network as a star.
    """
    x = x or data.budget or data.costs[0]
    whole_cost = data.unpruned["values"].get(x)
    relative = bool(whole_cost)
    place = f"{x}_share" if relative else x
    rows = [r for r in front_table(data).rows if r[place] is not None and r["validation"] is not None]
    star = unpruned_row(data)
    trials = [
        (t["values"][x] / whole_cost if whole_cost else t["values"][x], 1 - t["values"]["error"])
        for t in data.trials
        if t["status"] == "complete" and t["values"].get(x) is not None and t["values"].get("error") is not None
    ]
    shared = [(r[place], r["validation"]) for r in rows]
    polished = [(r[place], r["polished_validation"]) for r in rows if r["polished_validation"] is not None]
    stars = [(star[place], star["validation"])] if star[place] is not None and star["validation"] is not None else []
    ordered = sorted(shared)
    # With `x` outside the objectives the members need not fall into a curve: then there is no line to draw.
    curve = ordered if all(a[1] <= b[1] for a, b in pairwise(ordered)) else []
    return chart(
        title=data.title,
        about=f"{data.metric} on {data.task.get('name', 'the validation data')} against {title(x)}",
        across=f"{title(x)}, share of the unpruned network" if relative else title(x),
        upwards=f"{data.metric} (validation)",
        label_x=lambda value: f"{value * 100:g} %" if relative else show(value, kind(x)),
        trials=trials,
        lines=[(_GREEN, curve)],
        marks=[
            (_dot, shared, "front, shared weights"),
            (_diamond, polished, "front, polished"),
            (_star, stars, "unpruned"),
        ],
    )


def design_front_svg(data: DesignReportData, x: str | None = None, y: str | None = None) -> str:
    """The front of a design run and its baselines as a standalone SVG: `x` (default: the first cost), `y` (the proxy) upwards.

    A line joins the members that no other beats by these two, whichever way each of them is better.
    """
    x, y = x or data.costs[0], y or data.proxy
    wanted = (x, y)

    def points(rows: list[Row]) -> list[Point]:
        known = [[number(row, name) for name in wanted] for row in rows]
        return [(a, b) for a, b in known if a is not None and b is not None]

    families = list(dict.fromkeys(b["family"] for b in data.baselines))
    scaled = {f: points([b for b in data.baselines if b["family"] == f]) for f in families}
    ways = {"min": "less", "max": "more"}
    better = " and ".join(f"{ways[data.direction(name)]} {title(name)}" for name in wanted)
    return chart(
        title=data.title,
        about=f"{title(y)} against {title(x)}: {better} is better",
        across=title(x),
        upwards=title(y),
        label_x=lambda value: _round(show(value, kind(x))),
        label_y=lambda value: _round(show(value, kind(y))),
        trials=points([t for t in data.trials if t["status"] == "complete"]),
        lines=[(_GREEN, points(slice_rows(data, x, y))), *((_VIOLET, sorted(scaled[f])) for f in families)],
        marks=[(_dot, points(data.front), "Pareto front"), *((_square, scaled[f], f"{f}, layer-scaled") for f in families)],
    )


def chart(
    *,
    title: str,
    about: str,
    across: str,
    upwards: str,
    label_x: Callable[[float], str],
    trials: list[Point],
    lines: list[tuple[str, list[Point]]],
    marks: list[Marks],
    label_y: Callable[[float], str] | None = None,
) -> str:
    """A plot from 0 across: faint trials, lines (colour, points) and marks over them. What has no points is left out."""
    shown = [point for _, points, _ in marks for point in points] or [(0.0, 0.0)]
    high_x = max(p[0] for p in shown) * 1.04 or 1.0
    low_y, high_y = min(p[1] for p in shown), max(p[1] for p in shown)
    margin = (high_y - low_y) * 0.06 or 0.05
    low_y, high_y = low_y - margin, high_y + margin

    def at(point: Point) -> Point:
        across = _LEFT + point[0] / high_x * (WIDTH - _LEFT - _RIGHT)
        down = HEIGHT - _BOTTOM - (point[1] - low_y) / (high_y - low_y) * (HEIGHT - _TOP - _BOTTOM)
        return round(across, 1), round(down, 1)

    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="13"><title>{escape(about)}</title>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
        f'<clipPath id="area"><rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}"/></clipPath>',
        f'<text x="{_LEFT}" y="30" fill="{_INK}" font-size="16" font-weight="600">{escape(title)}</text>',
    ]
    for value in ticks(0, high_x):
        place, _ = at((value, low_y))
        out.append(f'<line x1="{place}" y1="{_TOP}" x2="{place}" y2="{bottom}" stroke="{_GRID}"/>')
        out.append(f'<text x="{place}" y="{bottom + 19}" fill="{_MUTED}" text-anchor="middle">{escape(label_x(value))}</text>')
    rungs = ticks(low_y, high_y)
    digits = max(0, -math.floor(math.log10(rungs[1] - rungs[0]) + 1e-9)) if len(rungs) > 1 else 3
    for value in rungs:
        _, down = at((0, value))
        label = label_y(value) if label_y else f"{value:.{digits}f}"
        out.append(f'<line x1="{_LEFT}" y1="{down}" x2="{right}" y2="{down}" stroke="{_GRID}"/>')
        out.append(f'<text x="{_LEFT - 8}" y="{down + 4}" fill="{_MUTED}" text-anchor="end">{escape(label)}</text>')
    middle = (_LEFT + right) / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 14}" fill="{_INK}" text-anchor="middle">{escape(across)}</text>')
    turned = f"rotate(-90 20 {(_TOP + bottom) / 2})"
    out.append(
        f'<text x="20" y="{(_TOP + bottom) / 2}" fill="{_INK}" text-anchor="middle" transform="{turned}">'
        f"{escape(upwards)}</text>"
    )
    out.append('<g clip-path="url(#area)">')
    out += [_circle(*at(p), 2.6, _GREY, 0.35) for p in trials]
    out.append("</g>")
    for colour, points in lines:
        if len(points) > 1:
            path = " ".join(f"{a},{b}" for a, b in map(at, points))
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-opacity="0.55"/>')
    out += [mark(*at(p)) for mark, points, _ in marks for p in points]
    out += _legend(bool(trials), marks)
    return "\n".join(out) + "\n</svg>\n"


def _legend(trials: bool, marks: list[Marks]) -> list[str]:
    entries = [(_circle(0, 0, 3.5, _GREY, 0.6), "all results")] if trials else []
    entries += [(mark(0, 0), words) for mark, points, words in marks if points]
    out, across = [], float(_LEFT + 6)
    for mark, words in entries:
        text = f'<text x="12" y="4.5" fill="{_MUTED}">{escape(words)}</text>'
        out.append(f'<g transform="translate({across:g} 54)">{mark}{text}</g>')
        across += 44 + 6.6 * len(words)
    return out


def _round(text: str) -> str:
    """A tick's label without digits that say nothing: 50.0 M is 50 M."""
    return text.replace(f".0{SPACE}", SPACE)


def _dot(x: float, y: float) -> str:
    return _circle(x, y, 4.5, _GREEN)


def _square(x: float, y: float) -> str:
    return f'<path d="M{x - 4:g} {y - 4:g}h8v8h-8z" fill="{_VIOLET}"/>'


def _circle(x: float, y: float, radius: float, colour: str, opacity: float = 1.0) -> str:
    faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{colour}"{faint}/>'


def _diamond(x: float, y: float) -> str:
    return f'<path d="M{x:g} {y - 7:g}l7 7l-7 7l-7 -7z" fill="{_ORANGE}" stroke="#ffffff"/>'


def _star(x: float, y: float) -> str:
    corners = []
    for i in range(10):
        radius, angle = (9.5 if i % 2 == 0 else 4.2), math.pi * (i / 5 - 0.5)
        corners.append(f"{x + radius * math.cos(angle):.1f},{y + radius * math.sin(angle):.1f}")
    return f'<polygon points="{" ".join(corners)}" fill="{_VIOLET}" stroke="#ffffff"/>'
