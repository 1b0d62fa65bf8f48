"""Edges and operations: made by hand, and told apart for every cell of a space."""

from __future__ import annotations

import time

import numpy as np
import pytest

from secateur.encodings import Adjacency, AdjacencyCategorical, AdjacencyContinuous, Encoding
from secateur.encodings.cells import expected
from secateur.rng import generator
from secateur.spaces.cells import CateOutside, Darts, NasBench101, NasBench201

SMALL = NasBench101(nodes="2..4", edges="1..5")
CONV3, CONV1, POOL = "conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3"
#: The input leads to the only node between and to the output.
THREE = SMALL.make({"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", POOL, "output"]})
CELL_201 = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"
FIXED = (("sep_conv_3x3", 0), ("skip_connect", 1), ("max_pool_3x3", 0), ("dil_conv_5x5", 2))


def test_bits_of_a_cell_with_an_absent_node() -> None:
    """Edges 0-1, 0-2, 0-3, 1-2, 1-3, 2-3, with the output as node 3; then the operations of nodes 1 and 2."""
    assert Adjacency(SMALL).encode([THREE])[0].tolist() == [1, 0, 1, 0, 1, 0, *[0, 0, 1], *[0, 0, 0]]


def test_numbers_of_a_cell_with_an_absent_node() -> None:
    found = AdjacencyCategorical(SMALL).encode([THREE])[0]
    assert found == pytest.approx([1 / 6, 3 / 6, 5 / 6, 0, 0, 3 / 3, 0])


def test_values_of_a_cell_with_an_absent_node() -> None:
    """Three of six edges: the largest three of six uniform values average (4 + 5 + 6) / 21, the others (1 + 2 + 3) / 21."""
    found = AdjacencyContinuous(SMALL).encode([THREE])[0]
    high, low = 5 / 7, 2 / 7
    assert found[:6] == pytest.approx([high, low, high, low, high, low])
    assert found[6:] == pytest.approx([3 / 8, 3 / 8, 3 / 4, 1 / 2, 1 / 2, 1 / 2])  # the largest of three, and of an absent node


@pytest.mark.parametrize(("d", "k"), [(5, 1), (6, 2), (4, 0), (3, 3)])
def test_expected_values_are_what_draws_average(d: int, k: int) -> None:
    draws = generator(0).random((200_000, d))
    order = np.sort(draws, axis=1)
    bits = np.array([[1.0] * k + [0.0] * (d - k)])
    means = [order[:, d - k :].mean() if k else 0, order[:, : d - k].mean() if k < d else 0]
    assert expected(bits)[0] == pytest.approx([means[0]] * k + [means[1]] * (d - k), abs=2e-3)


def test_operations_on_six_edges() -> None:
    space = NasBench201(merged=False)
    cell = space.make({"cell": CELL_201})
    encoding = Adjacency(space)
    assert encoding.dimensions == 30
    names = ["nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "nor_conv_1x1", "nor_conv_3x3"]
    by_hand = [float(name == known) for name in names for known in space.operations]
    assert encoding.encode([cell])[0].tolist() == by_hand
    numbers = AdjacencyCategorical(space).encode([cell])[0]
    assert numbers == pytest.approx([4 / 5, 1 / 5, 2 / 5, 5 / 5, 3 / 5, 4 / 5])
    values = AdjacencyContinuous(space).encode([cell])[0]
    assert values == pytest.approx([5 / 6 if bit else 5 / 12 for bit in by_hand])


def test_two_cells_one_after_the_other() -> None:
    """The second node of a cell chooses its places: its first input 0 or 1, its second 1 or 2; the first node has no choice."""
    space = Darts(nodes=2)
    other = (*FIXED[:2], ("skip_connect", 1), ("avg_pool_3x3", 2))
    one = space.make({"normal": FIXED, "reduction": other})
    found = Adjacency(space).encode([one])[0]
    operations = [[float(name == known) for name, _ in cell for known in space.operations] for cell in (FIXED, other)]
    assert found.tolist() == [1, 0, 0, 1, *operations[0], 0, 1, 0, 1, *operations[1]]
    assert Adjacency(Darts()).dimensions == 2 * (18 + 8 * 7)


@pytest.mark.parametrize("kind", [Adjacency, AdjacencyCategorical, AdjacencyContinuous])
@pytest.mark.parametrize(
    "space",
    [NasBench101(nodes="2..5"), NasBench201(merged=False), Darts(nodes=1), Darts(True, nodes=2, operations=["skip_connect"])],
    ids=["nasbench101", "nasbench201", "darts", "darts-shared"],
)
def test_different_cells_have_different_vectors(kind: type[Encoding], space: NasBench101 | NasBench201 | Darts) -> None:
    cells = list(space.every())
    vectors = kind(space).encode(cells)
    if isinstance(space, Darts):  # cells that differ in the order of their nodes share a key
        assert len(np.unique(vectors, axis=0)) == len(cells)
    else:
        assert len(np.unique(vectors, axis=0)) == len(cells) == space.size()


def test_isomorphic_spellings_have_one_vector() -> None:
    matrix = np.array([[0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]])
    ops = ["input", CONV3, CONV1, POOL, "output"]
    order = [0, 2, 1, 3, 4]
    space = NasBench101()
    one = space.make({"matrix": matrix, "ops": ops})
    other = space.make({"matrix": matrix[np.ix_(order, order)], "ops": [ops[i] for i in order]})
    for kind in (Adjacency, AdjacencyCategorical, AdjacencyContinuous):
        assert np.array_equal(*kind(space).encode([one, other]))


def test_cells_outside_are_encoded_as_the_trainings_are() -> None:
    """An encoding of the whole space serves both parts of it."""
    space, encoding = CateOutside(), Adjacency(NasBench101())
    cells = space.sample_many(20, generator(0))
    again = [NasBench101().make(dict(cell.choices)) for cell in cells]
    assert np.array_equal(encoding.encode(cells), encoding.encode(again))


@pytest.mark.slow
def test_all_of_nasbench101_have_different_vectors() -> None:
    space = NasBench101()
    cells = list(space.every())
    began = time.thread_time()
    bits = Adjacency(space).encode(cells).astype(bool)
    assert time.thread_time() - began < 20
    assert len(np.unique(np.packbits(bits, axis=1), axis=0)) == 423_624
