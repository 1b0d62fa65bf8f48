"""The front as one small SVG file that needs no library: for a README or a slide."""

from __future__ import annotations

import math
from html import escape
from itertools import pairwise

from secateur.report.data import ReportData, kind, title
from secateur.report.numbers import show
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
    shown = [*shared, *polished, *stars] or [(0.0, 0.0)]
    high_x = max(p[0] for p in shown) * 1.04 or 1.0
    low_y, high_y = min(p[1] for p in shown), max(p[1] for p in shown)
    margin = (high_y - low_y) * 0.06 or 0.05
    low_y, high_y = low_y - margin, high_y + margin

    def at(point: tuple[float, float]) -> tuple[float, float]:
        across = _LEFT + point[0] / high_x * (WIDTH - _LEFT - _RIGHT)
        down = HEIGHT - _BOTTOM - (point[1] - low_y) / (high_y - low_y) * (HEIGHT - _TOP - _BOTTOM)
        return round(across, 1), round(down, 1)

    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    heading = f"{data.metric} on {data.task.get('name', 'the validation data')} against {title(x)}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="13"><title>{escape(heading)}</title>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
        f'<clipPath id="area"><rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}"/></clipPath>',
        f'<text x="{_LEFT}" y="30" fill="{_INK}" font-size="16" font-weight="600">{escape(data.title)}</text>',
    ]
    for value in ticks(0, high_x):
        across, _ = at((value, low_y))
        out.append(f'<line x1="{across}" y1="{_TOP}" x2="{across}" y2="{bottom}" stroke="{_GRID}"/>')
        label = f"{value * 100:g} %" if relative else show(value, kind(x))
        out.append(f'<text x="{across}" y="{bottom + 19}" fill="{_MUTED}" text-anchor="middle">{escape(label)}</text>')
    marks = ticks(low_y, high_y)
    digits = max(0, -math.floor(math.log10(marks[1] - marks[0]) + 1e-9)) if len(marks) > 1 else 3
    for value in marks:
        _, down = at((0, value))
        out.append(f'<line x1="{_LEFT}" y1="{down}" x2="{right}" y2="{down}" stroke="{_GRID}"/>')
        out.append(f'<text x="{_LEFT - 8}" y="{down + 4}" fill="{_MUTED}" text-anchor="end">{value:.{digits}f}</text>')
    middle = (_LEFT + right) / 2
    name = f"{title(x)}, share of the unpruned network" if relative else title(x)
    out.append(f'<text x="{middle}" y="{HEIGHT - 14}" fill="{_INK}" text-anchor="middle">{escape(name)}</text>')
    turned = f"rotate(-90 20 {(_TOP + bottom) / 2})"
    out.append(
        f'<text x="20" y="{(_TOP + bottom) / 2}" fill="{_INK}" text-anchor="middle" transform="{turned}">'
        f"{escape(data.metric)} (validation)</text>"
    )
    out.append('<g clip-path="url(#area)">')
    out += [_circle(*at(p), 2.6, _GREY, 0.35) for p in trials]
    out.append("</g>")
    ordered = sorted(shared)
    # With `x` outside the objectives the members need not fall into a curve: then there is no line to draw.
    if all(a[1] <= b[1] for a, b in pairwise(ordered)) and len(ordered) > 1:
        path = " ".join(f"{a},{b}" for a, b in map(at, ordered))
        out.append(f'<polyline points="{path}" fill="none" stroke="{_GREEN}" stroke-width="2" stroke-opacity="0.55"/>')
    out += [_circle(*at(p), 4.5, _GREEN) for p in shared]
    out += [_diamond(*at(p)) for p in polished]
    out += [_star(*at(p)) for p in stars]
    out += _legend(bool(trials), bool(shared), bool(polished), bool(stars))
    return "\n".join(out) + "\n</svg>\n"


def _legend(trials: bool, shared: bool, polished: bool, star: bool) -> list[str]:
    entries = [
        (trials, _circle(0, 0, 3.5, _GREY, 0.6), "all results"),
        (shared, _circle(0, 0, 4.5, _GREEN), "front, shared weights"),
        (polished, _diamond(0, 0), "front, polished"),
        (star, _star(0, 0), "unpruned"),
    ]
    out, across = [], float(_LEFT + 6)
    for wanted, mark, words in entries:
        if wanted:
            out.append(f'<g transform="translate({across:g} 54)">{mark}<text x="12" y="4.5" fill="{_MUTED}">{words}</text></g>')
            across += 44 + 6.6 * len(words)
    return out


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
