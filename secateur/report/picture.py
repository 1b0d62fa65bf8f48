"""An architecture as a small inline SVG: a row per layer, its heads as cells and its feed-forward units as a bar."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

#: An index set of units is drawn in at most this many bins, each as dark as it is full.
BINS = 48
#: In how many shades.
SHADES = 8
#: The page's colours, with what to use where the picture stands alone.
KEPT, TRACK, GONE, TEXT = "var(--kept,#1f9d6b)", "var(--track,#d5dbe3)", "var(--gone,#eef1f5)", "var(--muted,#5b6675)"
UNITS = "var(--units,#3b82c4)"


#: A filled box: where it starts and ends, as shares of the room it stands in, and its fill.
Box = tuple[float, float, str]


@dataclass(frozen=True)
class Layer:
    """A row of the picture: boxes for heads and for units, what is written beside each, what it says when pointed at."""

    heads: list[Box]
    units: list[Box]
    notes: tuple[str, str]
    spoken: str


def pruned_picture(plan: Mapping[str, Any], shape: Mapping[str, int], compact: bool = False) -> str:
    """A pruned network, within the unpruned one of that shape. `compact` is a thumbnail without words."""
    by_index = {layer["index"]: layer for layer in plan["layers"]}
    layers = []
    for index in range(shape["layers"]):
        layer, empty = (by_index[index], TRACK) if index in by_index else ({"heads": 0, "units": 0}, GONE)
        places, units = set(kept(layer["heads"], shape["heads"])), _count(layer["units"])
        heads = _cells([KEPT if place in places else empty for place in range(shape["heads"])])
        bars = [(low, high, _shade(full)) for low, high, full in unit_bins(layer["units"], shape["units"])]
        notes = (f"{len(places)}/{shape['heads']}", f"{units}/{shape['units']}") if index in by_index else ("gone", "")
        spoken = f"layer {index}: {len(places)} heads, {units} units"
        layers.append(Layer(heads, [(0.0, 1.0, empty), *bars], notes, spoken))
    return _drawn(describe(plan, shape), "heads", layers, shape["layers"], compact)


def decoder_picture(choices: Mapping[str, Any], largest: Mapping[str, int], compact: bool = False) -> str:
    """A decoder. Bars are as long as the model (attention) and its feed-forward units are wide, relative to `largest`."""
    attention = choices["width"] / max(largest["width"], 1)
    layers = []
    for index, (heads, inner) in enumerate(zip(choices["heads"], choices["inner"], strict=True)):
        bar = (0.0, inner / max(largest["inner"], 1), UNITS)
        spoken = f"layer {index}: {heads} heads, {inner} units"
        layers.append(Layer(_cells([KEPT] * heads, attention), [bar], (f"{heads} heads", str(inner)), spoken))
    return _drawn(describe_decoder(choices), f"attention, {choices['width']} wide", layers, largest["layers"], compact)


def _cells(fills: Sequence[str], width: float = 1.0) -> list[Box]:
    """Cells side by side, with a little room between them."""
    cell = width / max(len(fills), 1)
    return [(i * cell, (i + 1) * cell - min(0.01, cell / 4), fill) for i, fill in enumerate(fills)]


def _shade(full: float) -> str:
    shade = math.ceil(full * SHADES)
    return UNITS if shade == SHADES else f"{UNITS};opacity:{0.1 + 0.9 * shade / SHADES:.2f}"


def _drawn(text: str, heading: str, layers: Sequence[Layer], deepest: int, compact: bool) -> str:
    """The SVG, with a title that screen readers speak. The rows of thumbnails are as high as the `deepest` network allows."""
    if compact:
        pitch = min(8.0, max(2.0, 72 / max(deepest, 1)))
        thickness = pitch - min(2.0, pitch / 3)
        left, heads_room, gap, units_room, right, top = 0.0, 56.0, 6.0, 68.0, 0.0, 0.0
    else:
        pitch = 18.0 if len(layers) <= 16 else 14.0
        thickness = pitch - 4.0
        left, heads_room, gap, units_room, right, top = 26.0, 156.0, 58.0, 190.0, 76.0, 20.0
    start = left + heads_room + gap
    width, height = start + units_room + right, top + pitch * max(len(layers), 1)
    text = escape(text)
    parts = [
        f'<svg class="picture{" compact" if compact else ""}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{text}"><title>{text}</title>'
    ]
    if not compact:
        parts += [_word(left, 11, heading), _word(start, 11, "feed-forward units")]
    for index, layer in enumerate(layers):
        y = top + pitch * index
        base = y + thickness / 2 + 4
        parts.append("<g>" if compact else f"<g><title>{layer.spoken}</title>{_word(0, base, str(index))}")
        for x, room, boxes, note in ((left, heads_room, layer.heads, 0), (start, units_room, layer.units, 1)):
            parts += _paths(boxes, x, room, y, thickness)
            if layer.notes[note] and not compact:
                end = max((high for _, high, _ in boxes), default=0.0)
                parts.append(_word(x + room * end + 5, base, layer.notes[note]))
        parts.append("</g>")
    return "".join(parts) + "</svg>"


def _paths(boxes: Sequence[Box], left: float, room: float, y: float, thickness: float) -> list[str]:
    """One path per fill, not a shape per box: a front of index sets stays a small page."""
    steps: dict[str, str] = {}
    for low, high, fill in boxes:
        wide = f"{(high - low) * room:.2f}"
        steps[fill] = f"{steps.get(fill, '')}M{left + low * room:.2f} {y:g}h{wide}v{thickness:g}h-{wide}z"
    return [f'<path d="{path}" style="fill:{fill}"/>' for fill, path in steps.items()]


def _word(x: float, y: float, text: str) -> str:
    """A small label whose baseline begins at (x, y)."""
    return f'<text x="{x:g}" y="{y:g}" style="fill:{TEXT};font-size:11px">{escape(text)}</text>'


def kept(value: int | list[int], full: int) -> list[int]:
    """The places kept, ascending: the first `value`, or those listed."""
    return list(range(min(value, full))) if isinstance(value, int) else sorted(value)


def _count(value: int | list[int]) -> int:
    return value if isinstance(value, int) else len(value)


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


def describe(plan: Mapping[str, Any], shape: Mapping[str, int]) -> str:
    """A pruned network in a sentence: layers, heads and units kept, out of how many."""
    layers = plan["layers"]
    heads, units = (sum(_count(layer[name]) for layer in layers) for name in ("heads", "units"))
    return (
        f"{len(layers)} of {shape['layers']} layers, {heads} of {shape['layers'] * shape['heads']} heads, "
        f"{units} of {shape['layers'] * shape['units']} units"
    )


def describe_decoder(choices: Mapping[str, Any]) -> str:
    """A decoder in a few words: `6 layers × 512, inner 1024–2048, heads 2–8, embedding 128 (k = 4)`."""
    layers = len(choices["heads"])
    embedding = f"embedding {choices['embedding']} (k = {choices['factor']})" if choices["embedding"] else "plain embedding"
    return (
        f"{layers} layer{'' if layers == 1 else 's'} × {choices['width']}, inner {_span(choices['inner'])}, "
        f"heads {_span(choices['heads'])}, {embedding}"
    )


def _span(values: Iterable[int]) -> str:
    low, high = min(values := list(values)), max(values)
    return str(low) if low == high else f"{low}–{high}"


def scale(decoders: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """What bars are drawn relative to: the most layers, the largest width and inner width among these choices."""
    found = list(decoders)
    return {
        "layers": max((len(c["heads"]) for c in found), default=1),
        "width": max((int(c["width"]) for c in found), default=1),
        "inner": max((int(i) for c in found for i in c["inner"]), default=1),
    }
