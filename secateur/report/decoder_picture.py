"""A decoder as a small inline SVG: a row per layer, its attention cut into heads and its feed-forward network as a bar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from secateur.report.architecture_picture import KEPT, UNITS, cells, word


def describe_decoder(choices: Mapping[str, Any]) -> str:
    """The architecture in a few words: `6 layers × 512, inner 1024–2048, heads 2–8, embedding 128 (k = 4)`."""
    layers = len(choices["heads"])
    embedding = f"embedding {choices['embedding']} (k = {choices['factor']})" if choices["embedding"] else "plain embedding"
    return (
        f"{layers} layer{'' if layers == 1 else 's'} × {choices['width']}, inner {_span(choices['inner'])}, "
        f"heads {_span(choices['heads'])}, {embedding}"
    )


def _span(values: Iterable[int]) -> str:
    values = list(values)
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}–{high}"


def scale(decoders: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """What bars are drawn relative to: the most layers, the largest width and inner width among these choices."""
    found = list(decoders)
    return {
        "layers": max((len(c["heads"]) for c in found), default=1),
        "width": max((int(c["width"]) for c in found), default=1),
        "inner": max((int(i) for c in found for i in c["inner"]), default=1),
    }


def decoder_picture(choices: Mapping[str, Any], largest: Mapping[str, int], compact: bool = False) -> str:
    """The SVG. Bars are as long as the model (attention) and its feed-forward units are wide, relative to `largest`.

    `compact` is a thumbnail without words; both have a title that screen readers speak.
    """
    depth = len(choices["heads"])
    if compact:
        pitch = min(7.0, max(2.0, 64 / max(largest["layers"], 1)))
        left, attention_room, gap, inner_room, right, top = 0.0, 52.0, 6.0, 76.0, 0.0, 0.0
    else:
        pitch = 18.0 if depth <= 16 else 14.0
        left, attention_room, gap, inner_room, right, top = 22.0, 132.0, 58.0, 190.0, 40.0, 20.0
    width, height = left + attention_room + gap + inner_room + right, top + pitch * depth
    text = escape(describe_decoder(choices))
    parts = [
        f'<svg class="picture{" compact" if compact else ""}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{text}"><title>{text}</title>'
    ]
    start = left + attention_room + gap
    attention = attention_room * choices["width"] / max(largest["width"], 1)
    if not compact:
        parts += [word(left, 11, f"attention, {choices['width']} wide"), word(start, 11, "feed-forward units")]
    thickness = pitch - (4.0 if not compact else min(2.0, pitch / 3))
    for index, (heads, inner) in enumerate(zip(choices["heads"], choices["inner"], strict=True)):
        y = top + pitch * index
        cell = attention / heads
        bar = inner_room * inner / max(largest["inner"], 1)
        parts.append("<g>" + cells(list(range(heads)), left, cell, cell - min(1.5, cell / 4), y, thickness, KEPT))
        parts.append(f'<rect x="{start:g}" y="{y:g}" width="{bar:.2f}" height="{thickness:g}" style="fill:{UNITS}"/>')
        if not compact:
            base = y + thickness / 2 + 4
            parts.append(f"<title>layer {index}: {heads} heads, {inner} units</title>{word(0, base, str(index))}")
            parts.append(word(left + attention + 5, base, f"{heads} heads") + word(start + bar + 4, base, str(inner)))
        parts.append("</g>")
    return "".join(parts) + "</svg>"
