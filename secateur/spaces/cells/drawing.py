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
    rows, depths = rows_of(graph), graph.depths()
    lines = []
    for source, target in graph.edges:
        at, path = rows[source, depths[source]], []
        for depth in range(depths[source] + 1, depths[target] + 1):
            to = rows[target if depth == depths[target] else source, depth]
            path.append(_curve(depth, at, to) + (f"H{depth * (WIDE + BESIDE) + WIDE}" if depth < depths[target] else ""))
            at = to
        start = f"M{depths[source] * (WIDE + BESIDE) + WIDE} {_middle(rows[source, depths[source]])}"
        lines.append(f'<path d="{start}{"".join(path)}" fill="none" stroke="{LINE}" marker-end="url(#tip)"/>')
    boxes = [_box(name, depths[node] * (WIDE + BESIDE), rows[node, depths[node]]) for node, name in enumerate(graph.operations)]
    width, height = max(depths) * (WIDE + BESIDE) + WIDE, (max(rows.values()) + 1) * (HIGH + BELOW) - BELOW
    return "".join(lines + boxes), width, height


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


def _curve(depth: int, above: int, below: int) -> str:
    """From the column before to this one."""
    end = depth * (WIDE + BESIDE)
    half = end - BESIDE // 2
    return f"C{half} {_middle(above)} {half} {_middle(below)} {end} {_middle(below)}"


def _box(name: str, x: int, row: int) -> str:
    y = row * (HIGH + BELOW)
    fill = next((colour for part, colour in FILLS.items() if part in name), END)
    return (
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5" fill="{fill}" stroke="{LINE}"/>'
        f'<text x="{x + WIDE // 2}" y="{y + 17}" text-anchor="middle" fill="#1c2430">{escape(name)}</text>'
    )
