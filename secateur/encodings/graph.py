"""Cells as graphs, for predictors that work on graphs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secateur.encodings.cells import CellEncoding, row_each
from secateur.spaces.base import Space
from secateur.spaces.cells import Graph


class Shape(NamedTuple):
    """How a vector is unflattened: for each cell an adjacency matrix (nodes, nodes) and operations (nodes, operations).

    The nodes of `ordered` graphs are known by their places.
    """

    cells: int
    nodes: int
    operations: int
    ordered: bool = False

    def matrices(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The edges (n · cells, nodes, nodes) and operations (n · cells, nodes, operations) of vectors (n, d), the cells of an
        architecture one below the other."""
        flat = vectors.reshape(len(vectors) * self.cells, self.nodes * (self.nodes + self.operations))
        edges = flat[:, : self.nodes**2].reshape(-1, self.nodes, self.nodes)
        return edges, flat[:, self.nodes**2 :].reshape(-1, self.nodes, self.operations)


class GraphEncoding(CellEncoding):
    """For each cell its adjacency matrix (nodes × nodes), row by row, then its operations one-hot (nodes × operations).

    Operations are on the nodes; input, output and sums are operations too. Rows and columns of absent nodes, the last, are
    zero. `nodes`, `operations` and `cells` are what is needed to unflatten vectors.
    """

    name = "graph"
    instead = "Use `vector`, with a predictor that learns from it (`dngo`, `mlp`; the searchers `bo-dngo`, `bananas`)."

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.nodes, self.operations, self.cells = self.frame.nodes, len(self.frame.names), len(self.frame.roles)
        self.names = self.frame.names
        self._name = {name: i for i, name in enumerate(self.names)}

    @property
    def shape(self) -> Shape:
        return Shape(self.cells, self.nodes, self.operations)

    @property
    def _width(self) -> int:
        return self.nodes * (self.nodes + self.operations)

    def _encoded(self, graphs: list[Graph]) -> np.ndarray:
        edges = row_each([g.edges for g in graphs], self._matrix, self.nodes**2)
        operations = row_each([g.operations for g in graphs], self._one_hot, self.nodes * self.operations)
        return np.concatenate([edges, operations], axis=1)

    def _matrix(self, edges: tuple[tuple[int, int], ...]) -> np.ndarray:
        matrix = np.zeros((self.nodes, self.nodes))
        matrix[tuple(np.transpose(edges))] = 1
        return matrix.ravel()

    def _one_hot(self, names: tuple[str, ...]) -> np.ndarray:
        out = np.zeros((self.nodes, self.operations))
        out[np.arange(len(names)), [self._name[name] for name in names]] = 1
        return out.ravel()
