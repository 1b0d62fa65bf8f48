"""One step from a cell: an operation, an edge or a node more, less or changed."""

from __future__ import annotations

from collections.abc import Iterator

from secateur.spaces.cells.structures import LABELS, Cell, cell, reached, targets

#: What changes, and the numbers that say where and to what.
Edit = tuple[str, int, int, int]


def edits(of: Cell, most: int) -> Iterator[Edit]:
    """Every edit of a cell that leaves it at most so many nodes; whether its edges are too many is not looked at.

    Another label on a node; an edge cut or added; a node of any label added on an edge, or between two nodes beside what
    connects them; a node with one edge in and one out taken off its path.
    """
    ahead = targets(of.nodes, of.bits)
    last = of.nodes - 1
    for node, own in enumerate(of.labels, 1):
        yield from (("label", node, label, 0) for label in range(LABELS) if label != own)
    behind = [sum((ahead[x] >> y & 1) << x for x in range(of.nodes)) for y in range(of.nodes)]
    for node in range(1, last):
        if ahead[node].bit_count() == behind[node].bit_count() == 1:
            yield "remove", node, 0, 0
    comes_before = [reached(ahead, x) for x in range(of.nodes)]
    for x in range(last):
        for y in range(1, of.nodes):
            if comes_before[y] >> x & 1:  # itself, or an edge from x to y would close a circle
                continue
            there = ahead[x] >> y & 1
            yield "cut" if there else "join", x, y, 0
            for label in range(LABELS) if of.nodes < most else ():
                yield "beside", x, y, label
                if there:
                    yield "between", x, y, label


def edited(of: Cell, edit: Edit) -> Cell | None:
    """The cell after an edit, pruned; None where the output is cut off."""
    kind, x, y, label = edit
    ahead, labels = list(targets(of.nodes, of.bits)), list(of.labels)
    if kind == "label":
        labels[x - 1] = y
    elif kind == "remove":
        for before in range(of.nodes):
            if ahead[before] >> x & 1:
                ahead[before] |= ahead[x]
        ahead[x] = 0
    elif kind == "cut":
        ahead[x] &= ~(1 << y)
    elif kind == "join":
        ahead[x] |= 1 << y
    else:
        if kind == "between":
            ahead[x] &= ~(1 << y)
        last = of.nodes - 1
        ahead = [_moved(a, last) for a in ahead]  # the new node takes the place of the output, which moves one up
        ahead.insert(last, 1 << (y + (y == last)))
        ahead[x] |= 1 << last
        labels.append(label)
    return cell(ahead, labels)


def _moved(nodes: int, last: int) -> int:
    """A set of nodes once the last has moved one up."""
    return nodes ^ (3 << last) if nodes >> last & 1 else nodes
