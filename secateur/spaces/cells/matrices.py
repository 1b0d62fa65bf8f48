"""Cells as matrices: how they are spelt, and padded to one size for changes, vectors and distances."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from secateur.spaces.cells.structures import LABELS, Cell, bit, cell, orders_of

Rows = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=2**13)
def rows_of(nodes: int, bits: int) -> Rows:
    """The adjacency matrix of a structure, row by row."""
    return tuple(tuple(bits >> bit(x, y) & 1 if x < y else 0 for y in range(nodes)) for x in range(nodes))


@lru_cache(maxsize=2**13)
def matrix_of(rows: Any, nodes: int) -> tuple[int, ...]:
    """For each node the set of those that its edges lead to. Raises ValueError with the rule that the rows break."""
    if len(rows) != nodes or any(len(row) != nodes for row in rows):
        raise ValueError(f"`matrix` must have {nodes} rows and columns, one for each of `ops`")
    if not all(type(there) is int and there in (0, 1) for row in rows for there in row):
        raise ValueError("`matrix` must hold nothing but 0 and 1")
    for x, row in enumerate(rows):
        for y in range(x + 1):
            if row[y]:
                raise ValueError(f"edges must go forward, and one goes from node {x} to node {y}")
    return tuple(sum(there << y for y, there in enumerate(row)) for row in rows)


class Padded:
    """Cells as matrices of one size, the output last, with empty nodes between."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        #: Where edges may be.
        self.forward = np.triu(np.ones((nodes, nodes), dtype=bool), 1)

    def of(self, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
        """Edges (nodes, nodes) and the labels (nodes − 2) of inner nodes, −1 for empty ones."""
        place = [*range(cell.nodes - 1), self.nodes - 1]
        edges = np.zeros((self.nodes, self.nodes), dtype=bool)
        edges[np.ix_(place, place)] = rows_of(cell.nodes, cell.bits)
        labels = np.full(self.nodes - 2, -1, dtype=np.int64)
        labels[: len(cell.labels)] = cell.labels
        return edges, labels

    def cell(self, edges: np.ndarray, labels: np.ndarray) -> Cell | None:
        """The cell of edges that go forward, pruned; None where the output is cut off."""
        ahead = (edges @ (1 << np.arange(self.nodes))).tolist()
        return cell(ahead, labels.tolist())

    @property
    def dimensions(self) -> int:
        return self.nodes * (self.nodes - 1) // 2 + self.nodes - 2

    def encoded(self, cells: Sequence[Cell]) -> np.ndarray:
        """Points (n, d) of the unit cube: the bits of the edges, then 0 for an empty node and (label + 1) / labels else."""
        edges = self.dimensions - (self.nodes - 2)
        out = np.zeros((len(cells), self.dimensions))
        bits = np.array([c.bits for c in cells], dtype=np.int64)
        out[:, :edges] = bits[:, None] >> np.arange(edges) & 1
        for row, c in zip(out, cells, strict=True):
            row[edges : edges + len(c.labels)] = (np.array(c.labels) + 1) / LABELS
        return out

    def distance(self, a: Cell, b: Cell) -> int:
        """The fewest edges and labels that differ, over all ways to pair the inner nodes; an empty node has any label."""
        (ours, left), (theirs, right) = self.of(a), self.of(b)
        orders = orders_of(self.nodes)
        turned, labels = theirs[orders[:, :, None], orders[:, None, :]], right[orders[:, 1:-1] - 1]
        edges = (turned != ours).sum(axis=(1, 2))
        return int((edges + ((labels != left) & (labels >= 0) & (left >= 0)).sum(axis=1)).min())
