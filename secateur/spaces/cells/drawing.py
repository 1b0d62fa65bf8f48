"""Cells as SVG drawings: nodes from left to right by their depth, curves for the edges."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from secateur.spaces.cells.graph import Graph

#: Sizes in pixels.
WIDE, HIGH, BESIDE, BELOW, MARGIN, TITLE = 118, 26, 44, 16, 12, 20
#: The page's colours, with what to use where the drawing stands alone.
LINE, TEXT, END = "var(--muted,#5b6675)", "var(--text,#1c2430)", "var(--track,#d5dbe3)"
FILLS = {"conv": "#bcd9f2", "pool": "#f6dfae", "skip": "#cdebd3", "none": "#eef1f5"}


def drawn(cells: Mapping[str, Graph]) -> str:
    """The cells, one below the other, each under its role."""
    parts, top, right = [], MARGIN, 0
    for role, graph in cells.items():
        inner, width, height = _cell(graph)
        label = f'<text x="{MARGIN}" y="{TITLE - 8}" font-weight="bold" fill="{TEXT}">{escape(role)}</text>'
        parts.append(f'<g transform="translate(0,{top})">{label}<g transform="translate({MARGIN},{TITLE})">{inner}</g></g>')
        top, right = top + TITLE + height + MARGIN, max(right, width + 2 * MARGIN)
    spoken = "; ".join(f"{role}: {described(graph)}" for role, graph in cells.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right} {top}" width="{right}" height="{top}" role="img" '
        f'font-family="sans-serif" font-size="11"><title>{escape(spoken)}</title><defs><marker id="tip" viewBox="0 0 8 8" '
        f'refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker>'
        f"</defs>{''.join(parts)}</svg>"
    )


def described(graph: Graph) -> str:
    """The cell in words: each node with where its data comes from."""
    names = [f"{place} {name}" for place, name in enumerate(graph.operations)]
    sources = [[str(x) for x, y in graph.edges if y == node] for node in range(len(names))]
    return ", ".join(f"{name} of {' and '.join(of)}" if of else name for name, of in zip(names, sources, strict=True))


def _cell(graph: Graph) -> tuple[str, int, int]:
    """What is drawn of a cell, its width and its height."""
    places, width, height = places_of(graph)
    curves = []
    for x, y in graph.edges:
        (left, up), (right, down) = places[x], places[y]
        start, end, middle = left + WIDE, right, (right - left - WIDE) / 2
        up, down = up + HIGH // 2, down + HIGH // 2
        curves.append(f"M{start} {up}C{start + middle:g} {up} {end - middle:g} {down} {end} {down}")
    lines = "".join(f'<path d="{d}" fill="none" stroke="{LINE}" marker-end="url(#tip)"/>' for d in curves)
    return lines + "".join(map(_box, graph.operations, places)), width, height


def places_of(graph: Graph) -> tuple[list[tuple[int, int]], int, int]:
    """The upper left corner of each node, a column per depth; and the width and height of all.

    A node stands no higher than a long edge may pass: where a column would hide an edge that skips it, its nodes stand lower.
    """
    depths = graph.depths()
    columns = [[node for node, at in enumerate(depths) if at == depth] for depth in range(max(depths) + 1)]
    skipped = [any(depths[x] < depth < depths[y] for x, y in graph.edges) for depth in range(len(columns))]
    rows = {node: row + skips for column, skips in zip(columns, skipped, strict=True) for row, node in enumerate(column)}
    places = [(depths[node] * (WIDE + BESIDE), rows[node] * (HIGH + BELOW)) for node in range(len(depths))]
    return places, max(x for x, _ in places) + WIDE, max(y for _, y in places) + HIGH


def _box(name: str, place: tuple[int, int]) -> str:
    x, y = place
    fill = next((colour for part, colour in FILLS.items() if part in name), END)
    return (
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5" fill="{fill}" stroke="{LINE}"/>'
        f'<text x="{x + WIDE // 2}" y="{y + 17}" text-anchor="middle" fill="#1c2430">{escape(name)}</text>'
    )
