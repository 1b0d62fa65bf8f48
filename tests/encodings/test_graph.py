"""Graphs as flat vectors."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.encodings import GraphEncoding
from secateur.rng import generator
from secateur.spaces.cells import CellSpace, Darts, NasBench101, NasBench201


@pytest.mark.parametrize(
    ("space", "shape"),
    [(NasBench101(), (1, 7, 5)), (NasBench201(), (1, 8, 7)), (Darts(), (2, 15, 11)), (Darts(True, nodes=2), (1, 9, 11))],
    ids=["nasbench101", "nasbench201", "darts", "darts-shared"],
)
def test_vectors_are_graphs(space: CellSpace, shape: tuple[int, int, int]) -> None:
    """Unflattened, each cell is what `graphs` gives, with nothing but zeros for absent nodes."""
    encoding = GraphEncoding(space)
    assert (encoding.cells, encoding.nodes, encoding.operations) == shape
    count, nodes, operations = shape
    assert encoding.dimensions == count * nodes * (nodes + operations)
    cells = space.sample_many(30, generator(0))
    assert isinstance(space, Darts | NasBench201) or len({len(space.graphs(c)["cell"].operations) for c in cells}) > 1
    for cell, vector in zip(cells, encoding.encode(cells), strict=True):
        for graph, part in zip(space.graphs(cell).values(), vector.reshape(count, -1), strict=True):
            size = len(graph.operations)
            matrix, labels = part[: nodes**2].reshape(nodes, nodes), part[nodes**2 :].reshape(nodes, operations)
            assert np.array_equal(matrix[:size, :size], graph.matrix)
            assert matrix.sum() == len(graph.edges)
            assert labels.sum() == size
            assert labels.sum(axis=1).tolist() == [1] * size + [0] * (nodes - size)
            assert tuple(space.frame.names[i] for i in labels[:size].argmax(axis=1)) == graph.operations


def test_a_cell_by_hand() -> None:
    space = NasBench101(nodes="2..4", edges="1..5")
    cell = space.make({"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "maxpool3x3", "output"]})
    matrix = [0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    names = [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert GraphEncoding(space).encode([cell])[0].tolist() == matrix + names
