"""Cells by their edges and operations (White et al. 2020, "A Study on Encodings for Neural Architecture Search").

Edges that every cell of a space has, and nodes with no choice, are left out: in NAS-Bench-201 the six operations remain. In
smaller cells the output stays the last node, so that an edge to it has one place. Isomorphic cells are told apart where the
space tells them apart: NAS-Bench-101's have one spelling, those of DARTS have several.
"""

from __future__ import annotations

import numpy as np

from secateur.encodings.cells import CellEncoding, expected, row_each
from secateur.spaces.base import Space
from secateur.spaces.cells import Graph

Edges = tuple[tuple[int, int], ...]


class Adjacency(CellEncoding):
    """A bit for each possible edge, then one for each operation that a node may have: none is set where the node is absent."""

    name = "adjacency"

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._edge = {edge: i for i, edge in enumerate(self.frame.edges)}
        self._operation = {name: i for i, name in enumerate(self._cells.operations)}

    @property
    def _width(self) -> int:
        return len(self.frame.edges) + len(self.frame.chosen) * len(self._operation)

    def _encoded(self, graphs: list[Graph]) -> np.ndarray:
        edges, operations = self._bits(graphs)
        return np.concatenate([edges, operations.reshape(len(graphs), -1)], axis=1)

    def _bits(self, graphs: list[Graph]) -> tuple[np.ndarray, np.ndarray]:
        """The bits of edges (n, e) and of operations (n, nodes, o)."""
        chosen, count = len(self.frame.chosen), len(self._operation)
        edges = row_each([(len(g.operations), g.edges) for g in graphs], self._edge_bits, len(self._edge))
        operations = row_each([g.operations for g in graphs], self._operation_bits, chosen * count)
        return edges, operations.reshape(len(graphs), chosen, count)

    def _edge_bits(self, shape: tuple[int, Edges]) -> np.ndarray:
        nodes, edges = shape
        last = self.frame.nodes - 1
        placed = [(x, last if y == nodes - 1 else y) for x, y in edges]
        bits = np.zeros(len(self._edge))
        bits[[self._edge[edge] for edge in placed if edge in self._edge]] = 1
        return bits

    def _operation_bits(self, names: tuple[str, ...]) -> np.ndarray:
        bits = np.zeros((len(self.frame.chosen), len(self._operation)))
        for row, node in zip(bits, self.frame.chosen, strict=True):
            if node < len(names) - 1:
                row[self._operation[names[node]]] = 1
        return bits.ravel()


class AdjacencyCategorical(Adjacency):
    """The numbers of the edges that are there, ascending, then the number of each node's operation, all from 1 and scaled to
    0…1. What is not there is 0. (In the authors' code the first edge has the number 0, as padding has.)"""

    name = "adjacency-categorical"

    @property
    def _width(self) -> int:
        return self.frame.most_edges + len(self.frame.chosen)

    def _encoded(self, graphs: list[Graph]) -> np.ndarray:
        edges, operations = self._bits(graphs)
        # Sorted by number, the edges that are not there last.
        order = np.argsort(edges == 0, axis=1, kind="stable")[:, : self.frame.most_edges]
        numbers = (order + 1) * np.take_along_axis(edges, order, axis=1) / max(1, edges.shape[1])
        count = operations.shape[2]
        return np.concatenate([numbers, operations @ (np.arange(1, count + 1) / count)], axis=1)


class AdjacencyContinuous(Adjacency):
    """A value in 0…1 for each possible edge and each operation of a node: the k largest edges are there, and a node has its
    largest operation.

    Many vectors are read as the same cell. A cell's own is the mean of them all, with values drawn uniformly; it tells k as
    well. (The authors' code gives bits and k to predictors, and draws values only to sample cells.)
    """

    name = "adjacency-continuous"

    def _encoded(self, graphs: list[Graph]) -> np.ndarray:
        edges, operations = self._bits(graphs)
        n, nodes, count = operations.shape
        return np.concatenate([expected(edges), expected(operations.reshape(-1, count)).reshape(n, nodes * count)], axis=1)
