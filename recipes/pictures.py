"""The pictures of the documentation, drawn from measurements.

python recipes/pictures.py design > docs/images/design.svg            # from recipes/design/savings.csv
python recipes/pictures.py front runs/demo "MiniLM-L6 on film reviews" > docs/images/front.svg    # from the demo's run
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

from secateur.report.charts import GREEN, GREY, ORANGE, VIOLET

WIDTH, HEIGHT = 760, 470
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 116, 58
TEXT, MUTED, GRID = "#1c2733", "#5b6675", "#e4e8ee"
#: Pixels of a letter, at most: what a line of the legend is broken by.
LETTER = 7.2
#: Marker → its outline about the point (0, 0), for a size of 1.
MARKERS = {
    "circle": "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0 -2 0z",
    "square": "M-.9 -.9h1.8v1.8h-1.8z",
    "diamond": "M0 -1.3l1.3 1.3l-1.3 1.3l-1.3 -1.3z",
    "star": "M0 -1.6l.47 1.11l1.2 .1l-.91 .79l.28 1.17l-1.04 -.63l-1.04 .63l.28 -1.17l-.91 -.79l1.2 -.1z",
}


@dataclass(frozen=True)
class Series:
    """Points that are drawn alike, joined in their order by a line where `dash` says how (`0` is a solid one)."""

    name: str
    points: list[tuple[float, float]]
    colour: str
    marker: str = "circle"
    size: float = 4.5
    dash: str | None = None
    opacity: float = 1.0


@dataclass(frozen=True)
class Axis:
    """One axis: its name with the unit, and where it begins and ends."""

    name: str
    low: float
    high: float

    def ticks(self) -> list[float]:
        """Four to ten round numbers."""
        rough = (self.high - self.low) / 7
        power = 10 ** math.floor(math.log10(rough))
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
        first = math.ceil(self.low / step - 1e-9)
        return [round(k * step, 10) for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def svg(title: str, x: Axis, y: Axis, series: list[Series], level: tuple[str, float] | None = None) -> str:
    """The picture; `level` is a named dashed line across it."""

    def place(point: tuple[float, float]) -> tuple[float, float]:
        across, up = ((v - a.low) / (a.high - a.low) for v, a in zip(point, (x, y), strict=True))
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">'
        f"<title>{escape(title)}: {escape(y.name)} against {escape(x.name)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
        _text(LEFT, 28, title, TEXT, "start", 'font-size="16" font-weight="600"'),
    ]
    for tick in x.ticks():
        at, _ = place((tick, y.low))
        parts += [_line((at, TOP), (at, HEIGHT - BOTTOM), GRID), _text(at, HEIGHT - BOTTOM + 18, f"{tick:g}", MUTED)]
    for tick in y.ticks():
        _, at = place((x.low, tick))
        parts += [_line((LEFT, at), (WIDTH - RIGHT, at), GRID), _text(LEFT - 8, at + 4.5, f"{tick:g}", MUTED, "end")]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x.name, TEXT))
    parts.append(_text(20, middle, y.name, TEXT, more=f'transform="rotate(-90 20 {middle:g})"'))
    if level is not None:
        _, at = place((x.low, level[1]))
        parts += [_line((LEFT, at), (WIDTH - RIGHT, at), MUTED, "6 4"), _text(WIDTH - RIGHT, at - 6, level[0], MUTED, "end")]
    for one in series:
        there = [place(point) for point in one.points]
        if one.dash is not None:
            parts += [_line(a, b, one.colour, one.dash) for a, b in itertools.pairwise(there)]
        parts += [_marker(at, one) for at in there]
    return "\n".join([*parts, *_legend(series), "</svg>\n"])


def _legend(series: list[Series]) -> list[str]:
    """Names from left to right, in as many lines as they need: three have room."""
    parts, across, down = [], float(LEFT), 52.0
    for one in series:
        wide = 34 + LETTER * len(one.name)
        if across + wide > WIDTH - RIGHT:
            across, down = float(LEFT), down + 22
        if one.dash is not None:
            parts.append(_line((across - 6, down), (across + 18, down), one.colour, one.dash))
        parts += [_marker((across + 6, down), one), _text(across + 24, down + 4.5, one.name, MUTED, "start")]
        across += wide
    return parts


def _text(x: float, y: float, text: str, colour: str, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" {more}>{escape(text)}</text>'


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, dash: str = "0") -> str:
    (a, b), (c, d) = start, end
    return f'<path d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" stroke="{colour}" stroke-width="1.5" stroke-dasharray="{dash}"/>'


def _marker(at: tuple[float, float], one: Series) -> str:
    where = f"translate({at[0]:.1f} {at[1]:.1f}) scale({one.size:g})"
    return f'<path d="{MARKERS[one.marker]}" transform="{where}" fill="{one.colour}" fill-opacity="{one.opacity:g}"/>'


def design(table: Path = Path(__file__).parent / "design" / "savings.csv") -> str:
    """The front of a search for GPT-2s against layer scaling, with the front's embedding and with the published one."""
    with table.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["baseline"].startswith("GPT-2 small")]
    families = list(dict.fromkeys(row["baseline"] for row in rows))
    looks = ((VIOLET, "diamond", "2 4"), (ORANGE, "square", "8 4"))
    series = []
    for family, (colour, marker, dash) in zip(families, looks, strict=True):
        points = [_point(row, "latency") for row in rows if row["baseline"] == family]
        name = family if "embedding" in family else f"{family} as published"
        series.append(Series(f"{name}, layer-scaled", points, colour, marker, dash=dash))
    found = {_point(row, "latency_front") for row in rows if row["latency_front"]}
    front = Series("Secateur's front: the fastest of at least that size", sorted(found), GREEN, dash="0")
    most = max(x for one in series for x, _ in one.points)
    x, y = Axis("latency (ms)", 0, 1.04 * most), Axis("decoder parameters (millions)", 0, 120)
    return svg("GPT-2 decoders on one CPU thread, 192 tokens", x, y, [front, *series])


def _point(row: dict[str, str], latency: str) -> tuple[float, float]:
    return float(row[latency]), float(row["decoder_parameters"]) / 1e6


def front(folder: Path, title: str = "") -> str:
    """The Pareto set of a pruning run: score against the share of the layers' parameters, and chance."""
    from secateur.runs.folder import open_run

    run = open_run(folder)
    whole = run.unpruned["body_parameters"]

    def point(values: dict[str, float]) -> tuple[float, float]:
        return 100 * values["body_parameters"] / whole, 1 - values["error"]

    best = sorted((m for m in run.front if m.above_chance), key=lambda m: m.values["body_parameters"])
    series = [
        Series("all trials", [point(m.trial.values) for m in run.front.pool], GREY, size=2.6, opacity=0.4),
        Series("Pareto front", [point(m.values) for m in best], GREEN, size=0, dash="0"),
        Series("not polished", [point(m.values) for m in best if m.weights == "shared"], GREEN),
        Series("polished", [point(m.values) for m in best if m.weights == "polished"], ORANGE, "diamond", 5.5),
        Series("unpruned", [point(run.unpruned)], VIOLET, "star", 6),
    ]
    scores = [y for one in series for _, y in one.points]
    low, high = min([*scores, run.chance_score or 1]), max(scores)
    y = Axis(f"{run.task['main'].replace('_', ' ')}, validation", low - 0.08 * (high - low), high + 0.08 * (high - low))
    level = None if run.chance_score is None else ("chance", run.chance_score)
    title = title or f"{run.model_name} on {run.task['name']}"
    run.close()
    return svg(title, Axis("parameters of the layers (% of the unpruned network's)", 0, 104), y, series, level)


def main(what: str, folder: str = "", title: str = "") -> None:
    sys.stdout.write(front(Path(folder), title) if what == "front" else design())


if __name__ == "__main__":
    main(*sys.argv[1:])
