"""Cells as SVG drawings: nodes from left to right by their depth, curves for the edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import NamedTuple

from secateur.spaces.cells.graph import Graph

#: Sizes in pixels.
WIDE, HIGH, BESIDE, BELOW, MARGIN, TITLE = 118, 26, 44, 16, 12, 20
#: In a narrow drawing: what lies beside a node, around its name, and a letter of it.
NARROW, AROUND, LETTER = 24, 12, 6
#: The page's colours, with what to use where the drawing stands alone.
LINE, TEXT, END = "var(--muted,#5b6675)", "var(--text,#1c2430)", "var(--track,#d5dbe3)"
FILLS = {"conv": "#bcd9f2", "pool": "#f6dfae", "skip": "#cdebd3", "none": "#eef1f5"}


class Look(NamedTuple):
    """How wide nodes are and what lies between two columns, in pixels, and the names that are written otherwise."""

    wide: int = WIDE
    beside: int = BESIDE
    names: Mapping[str, str] = {}

    @classmethod
    def narrow(cls, names: Iterable[str]) -> Look:
        """Nodes of these names as narrow as they can be, with short names."""
        written = {name: short(name) for name in names}
        return cls(AROUND + LETTER * max(map(len, written.values())), NARROW, written)


#: Names in full.
WIDELY = Look()


def short(name: str) -> str:
    """An operation in a few letters: `conv 3×3` of `nor_conv_3x3` or `conv3x3-bn-relu`, `max 3×3`, `sep 5×5`, `skip`."""
    plain = re.sub(r"^nor_|-bn-relu$|_connect$", "", name)
    plain = re.sub(r"^(avg|max|sep|dil)_?(?:pool|conv)", r"\1", plain)
    return re.sub(r"[_-]?(\d)x(\d)", r" \1×\2", plain)


def drawn(cells: Mapping[str, Graph], look: Look = WIDELY) -> str:
    """The cells, one below the other, each under its role."""
    parts, top, right = [], MARGIN, 0
    for role, graph in cells.items():
        inner, width, height = _cell(graph, look)
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


def _cell(graph: Graph, look: Look) -> tuple[str, int, int]:
    """What is drawn of a cell, its width and its height."""
    rows, depths, step = rows_of(graph), graph.depths(), look.wide + look.beside
    lines = []
    for source, target in graph.edges:
        at, path = rows[source, depths[source]], []
        for depth in range(depths[source] + 1, depths[target] + 1):
            to = rows[target if depth == depths[target] else source, depth]
            path.append(_curve(depth * step, look.beside, at, to) + (f"H{depth * step + look.wide}" * (depth < depths[target])))
            at = to
        start = f"M{depths[source] * step + look.wide} {_middle(rows[source, depths[source]])}"
        lines.append(f'<path d="{start}{"".join(path)}" fill="none" stroke="{LINE}" marker-end="url(#tip)"/>')
    boxes = [_box(name, depths[node] * step, rows[node, depths[node]], look) for node, name in enumerate(graph.operations)]
    return "".join(lines + boxes), max(depths) * step + look.wide, (max(rows.values()) + 1) * (HIGH + BELOW) - BELOW


def rows_of(graph: Graph) -> dict[tuple[int, int], int]:
    """The row of each node in the column of its depth; and in each column that edges of a node pass, that of its lane.

    Lanes share no row with a node, so that no edge runs behind one. Each column is in the order of what it comes from.
    """
    depths = graph.depths()
    ends = [max((depths[y] for x, y in graph.edges if x == node), default=depths[node]) for node in range(len(depths))]
    rows: dict[tuple[int, int], int] = {}
    for depth in range(max(depths) + 1):
        found = []
        for node, own in enumerate(depths):
            if own == depth:
                sources = [x for x, y in graph.edges if y == node]
            elif own < depth < ends[node]:
                sources = [node]
            else:
                continue
            before = [rows[x, depth - 1] for x in sources if (x, depth - 1) in rows]
            found.append((sum(before) / len(before) if before else node, node))
        rows |= {(node, depth): row for row, (_, node) in enumerate(sorted(found))}
    return rows


def _middle(row: int) -> int:
    return row * (HIGH + BELOW) + HIGH // 2


def _curve(end: int, beside: int, above: int, below: int) -> str:
    """From the column before to the one that begins at `end`."""
    half = end - beside // 2
    return f"C{half} {_middle(above)} {half} {_middle(below)} {end} {_middle(below)}"


def _box(name: str, x: int, row: int, look: Look) -> str:
    y = row * (HIGH + BELOW)
    return (
        f'<rect x="{x}" y="{y}" width="{look.wide}" height="{HIGH}" rx="5" fill="{fill(name)}" stroke="{LINE}"/>'
        f'<text x="{x + look.wide // 2}" y="{y + 17}" text-anchor="middle" fill="{ink(name)}">'
        f"{escape(look.names.get(name, name))}</text>"
    )


def fill(name: str) -> str:
    """The colour of a node."""
    return next((colour for part, colour in FILLS.items() if part in name), END)


def ink(name: str) -> str:
    """The colour of a name on its node: fills are light in both themes, ends are the page's."""
    return TEXT if fill(name) == END else "#1c2430"
