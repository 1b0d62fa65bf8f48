"""Cells by the paths of operations from input to output (White et al. 2019, "BANANAS", and 2020).

Equal computations have equal vectors, so isomorphic cells have; some different cells have as well. A path over an operation
that passes nothing on is none: the authors' code counts `none` of NAS-Bench-201 as an operation like the others (155 bits, not
84), from which a random forest learns worse. With two inputs, as in DARTS, paths from either count apart.
"""

from __future__ import annotations

import numpy as np

from secateur.encodings.cells import CellEncoding, cell_space, expected, row_each
from secateur.spaces.base import Space
from secateur.spaces.cells import Graph
from secateur.spaces.cells.frame import Frame

#: More bits are refused: a thousand vectors of so many take 32 MB.
MOST_BITS = 4096


class Paths(CellEncoding):
    """Numbers of paths: by how many operations they have, then by their input, then by their operations in order."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._label = {name: i for i, name in enumerate(self.frame.passing)}

    def _numbers(self, graphs: list[Graph]) -> np.ndarray:
        """The numbers (n, p) of the different paths of each cell, ascending; then as often as needed the number of all."""
        nothing = possible(self.frame)
        out = np.full((len(graphs), self.frame.most_paths), nothing, dtype=np.int64)
        alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for place, graph in enumerate(graphs):
            alike.setdefault(graph.edges, []).append(place)
        for rows in alike.values():
            graph = graphs[rows[0]]
            nodes = len(graph.operations)
            labels = row_each([graphs[row].operations for row in rows], self._labels, nodes).astype(np.int64)
            for column, path in enumerate(_paths(graph)):
                out[rows, column] = self._number(graph, path, labels)
        out.sort(axis=1)
        out[:, 1:][out[:, 1:] == out[:, :-1]] = nothing
        out.sort(axis=1)
        return out

    def _labels(self, names: tuple[str, ...]) -> np.ndarray:
        return np.array([self._label.get(name, -1) for name in names])

    def _number(self, graph: Graph, path: tuple[int, ...], labels: np.ndarray) -> np.ndarray:
        """The numbers (n,) of one path through cells of one structure with labels (n, nodes)."""
        known = self._cells.operations
        source, count = self.frame.inputs.index(graph.operations[path[0]]), len(self._label)
        taken = labels[:, [node for node in path if graph.operations[node] in known]]
        length = taken.shape[1]
        number = possible(self.frame, length - 1) + source * count**length + taken @ (count ** np.arange(length)[::-1])
        return np.where((taken >= 0).all(axis=1), number, possible(self.frame))


class PathCategorical(Paths):
    """The numbers of a cell's paths, ascending from 1 and scaled to 0…1; 0 where there are no more."""

    name = "path-categorical"

    @property
    def _width(self) -> int:
        return self.frame.most_paths

    def _encoded(self, graphs: list[Graph]) -> np.ndarray:
        numbers, every = self._numbers(graphs), possible(self.frame)
        return np.where(numbers < every, (numbers + 1) / every, 0.0)


class Path(Paths):
    """A bit for each possible path of operations."""

    name = "path"

    @classmethod
    def refuses(cls, space: Space) -> str | None:
        reason = super().refuses(space)
        if reason:
            return reason
        frame = cell_space(space).frame
        bits = len(frame.roles) * possible(frame, cls._longest(frame))
        if bits > MOST_BITS:
            return f"the encoding `{cls.name}` of `{space.name}` would have {bits:,} dimensions. Use `path-truncated`."
        return None

    @staticmethod
    def _longest(frame: Frame) -> int:
        """The most operations on a path that has a bit."""
        return frame.lengths[1]

    @property
    def _width(self) -> int:
        return possible(self.frame, self._longest(self.frame))

    def _encoded(self, graphs: list[Graph]) -> np.ndarray:
        width = self._width
        bits = np.zeros((len(graphs), width + 1))
        np.put_along_axis(bits, np.minimum(self._numbers(graphs), width), 1.0, axis=1)
        return bits[:, :width]


class PathTruncated(Path):
    """A bit for each possible path of at most half as many operations as the longest has, rounded up: most cells have no longer
    ones in common. In NAS-Bench-101 these are the authors' 40 bits."""

    name = "path-truncated"

    @staticmethod
    def _longest(frame: Frame) -> int:
        return (frame.lengths[1] + 1) // 2


class PathContinuous(Path):
    """A value in 0…1 for each possible path, the k largest of which are there. A cell's own vector is the mean of all that are
    read as it, with values drawn uniformly."""

    name = "path-continuous"

    def _encoded(self, graphs: list[Graph]) -> np.ndarray:
        return expected(super()._encoded(graphs))


def possible(frame: Frame, longest: int | None = None) -> int:
    """How many paths there may be, of at most `longest` operations."""
    fewest, most = frame.lengths
    lengths = range(fewest, (most if longest is None else longest) + 1)
    return sum(len(frame.inputs) * len(frame.passing) ** length for length in lengths)


def _paths(graph: Graph) -> list[tuple[int, ...]]:
    """Every path to the last node, as places."""
    found: list[list[tuple[int, ...]]] = [[] for _ in graph.operations]
    ends = {target for _, target in graph.edges}
    for node in range(len(graph.operations)):
        if node not in ends:
            found[node] = [(node,)]
        found[node] += [(*path, node) for source, target in graph.edges if target == node for path in found[source]]
    return found[-1]
