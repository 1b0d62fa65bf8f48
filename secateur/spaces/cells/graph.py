"""A cell as a graph: an operation per node, data along the edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Graph:
    """Nodes in an order in which every edge goes forward: their operations, and the edges as pairs of places."""

    operations: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        wrong = [edge for edge in self.edges if not 0 <= edge[0] < edge[1] < len(self.operations)]
        if wrong:
            raise ValueError(f"the edge {wrong[0]} does not go forward between two of {len(self.operations)} nodes")

    @property
    def matrix(self) -> np.ndarray:
        """The adjacency matrix (n, n) of 0 and 1: a row per source, a column per target."""
        out = np.zeros((len(self.operations),) * 2, dtype=np.int8)
        for source, target in self.edges:
            out[source, target] = 1
        return out

    def depths(self) -> tuple[int, ...]:
        """The number of edges of the longest path to each node."""
        out = [0] * len(self.operations)
        for source, target in sorted(self.edges, key=lambda edge: edge[1]):
            out[target] = max(out[target], out[source] + 1)
        return tuple(out)
