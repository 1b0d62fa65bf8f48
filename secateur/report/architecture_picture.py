"""An architecture as a small inline SVG: a row per layer with its heads as cells and its units as a bar."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np

from secateur.report.importance import kept

#: An index set of units is drawn in at most this many bins, each as dark as it is full.
BINS = 48
#: In how many shades.
SHADES = 8
#: The page's colours, with what to use where the picture stands alone.
KEPT, TRACK, GONE, TEXT = "var(--kept,#1f9d6b)", "var(--track,#d5dbe3)", "var(--gone,#eef1f5)", "var(--muted,#5b6675)"
UNITS = "var(--units,#3b82c4)"


def describe(plan: dict[str, Any], shape: dict[str, int]) -> str:
    """The architecture in a sentence: layers, heads and units kept, out of how many."""
    layers = plan["layers"]
    heads = sum(_count(p["heads"]) for p in layers)
    units = sum(_count(p["units"]) for p in layers)
    return (
        f"{len(layers)} of {shape['layers']} layers, {heads} of {shape['layers'] * shape['heads']} heads, "
        f"{units} of {shape['layers'] * shape['units']} units"
    )


def unit_bins(value: int | list[int], full: int) -> list[tuple[float, float, float]]:
    """The kept units as (start, end, share kept), positions as shares of `full`.

    A prefix is one full bin; an index set at most `BINS` bins, empty ones left out.
    """
    if isinstance(value, int):
        return [(0.0, min(value, full) / full, 1.0)] if value and full else []
    edges = np.unique(np.linspace(0, full, min(BINS, full) + 1).round().astype(int))
    filled, _ = np.histogram(np.asarray(value), bins=edges)
    sizes = np.diff(edges)
    return [
        (float(edges[i] / full), float(edges[i + 1] / full), float(filled[i] / sizes[i]))
        for i in range(len(sizes))
        if filled[i]
    ]


def picture(plan: dict[str, Any], shape: dict[str, int], compact: bool = False) -> str:
    """The SVG. `compact` is a thumbnail without words; both have a title that screen readers speak."""
    by_index = {layer["index"]: layer for layer in plan["layers"]}
    depth = max(shape["layers"], 1)
    if compact:
        pitch = min(8.0, max(2.0, 72 / depth))
        left, heads_width, gap, units_width, right, top = 0.0, 60.0, 6.0, 60.0, 0.0, 0.0
    else:
        pitch = 18.0 if depth <= 16 else 14.0
        left, heads_width, gap, units_width, right, top = 26.0, 168.0, 46.0, 190.0, 76.0, 20.0
    width, height = left + heads_width + gap + units_width + right, top + pitch * depth
    text = escape(describe(plan, shape))
    parts = [
        f'<svg class="picture{" compact" if compact else ""}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{text}"><title>{text}</title>'
    ]
    if not compact:
        parts.append(word(left, 11, "heads"))
        parts.append(word(left + heads_width + gap, 11, "feed-forward units"))
    for index in range(shape["layers"]):
        layer = by_index.get(index)
        y = top + pitch * index
        thickness = pitch - (4.0 if not compact else min(2.0, pitch / 3))
        parts.append("<g>" + _layer(layer, index, shape, left, heads_width, gap, units_width, y, thickness, compact) + "</g>")
    return "".join(parts) + "</svg>"


def _layer(
    layer: dict[str, Any] | None,
    index: int,
    shape: dict[str, int],
    left: float,
    heads_width: float,
    gap: float,
    units_width: float,
    y: float,
    thickness: float,
    compact: bool,
) -> str:
    heads, units = (layer["heads"], layer["units"]) if layer else (0, 0)
    start = left + heads_width + gap
    cell = heads_width / max(shape["heads"], 1)
    inner = cell - min(1.5, cell / 4)
    places = kept(heads, shape["heads"])
    gone = sorted(set(range(shape["heads"])).difference(places))
    empty = TRACK if layer else GONE
    parts = [
        cells(gone, left, cell, inner, y, thickness, empty),
        cells(places, left, cell, inner, y, thickness, KEPT),
        f'<rect x="{start:g}" y="{y:g}" width="{units_width:g}" height="{thickness:g}" style="fill:{empty}"/>',
    ]
    # One path per shade, not a rectangle per bin: a front of index sets stays a small page.
    shades: dict[int, list[str]] = {}
    for low, high, share in unit_bins(units, shape["units"]):
        x, wide = start + low * units_width, (high - low) * units_width
        shades.setdefault(math.ceil(share * SHADES), []).append(f"M{x:.1f} {y:g}h{wide:.1f}v{thickness:g}h-{wide:.1f}z")
    for shade, steps in sorted(shades.items()):
        faint = "" if shade == SHADES else f";opacity:{0.1 + 0.9 * shade / SHADES:.2f}"
        parts.append(f'<path d="{"".join(steps)}" style="fill:{UNITS}{faint}"/>')
    if not compact:
        base = y + thickness / 2 + 4
        parts.append(f"<title>layer {index}: {_count(heads)} heads, {_count(units)} units</title>")
        parts.append(word(0, base, str(index)))
        if layer is None:
            parts.append(word(left + heads_width + 4, base, "gone"))
        else:
            parts.append(word(left + heads_width + 4, base, f"{_count(heads)}/{shape['heads']}"))
            parts.append(word(start + units_width + 4, base, f"{_count(units)}/{shape['units']}"))
    return "".join(parts)


def cells(places: list[int], left: float, cell: float, inner: float, y: float, thickness: float, colour: str) -> str:
    """Cells as one path: thousands of them stay a small page."""
    if not places:
        return ""
    steps = "".join(f"M{left + p * cell:.2f} {y:g}h{inner:.2f}v{thickness:g}h-{inner:.2f}z" for p in places)
    return f'<path d="{steps}" style="fill:{colour}"/>'


def word(x: float, y: float, text: str) -> str:
    """A small label whose baseline begins at (x, y)."""
    return f'<text x="{x:g}" y="{y:g}" style="fill:{TEXT};font-size:11px">{escape(text)}</text>'


def _count(value: int | list[int]) -> int:
    return value if isinstance(value, int) else len(value)
