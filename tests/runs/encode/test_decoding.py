"""What a decoder makes of latent numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from secateur.encodings import GraphEncoding
from secateur.encodings.learned.figures import generated
from secateur.rng import generator
from secateur.runs.encode.decoding import DRAWS, SHOWN, between, complete, samples, used
from secateur.spaces.cells import Darts, Graph, NasBench101, NasBench201

SPACE = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
EVERY = list(SPACE.every())
VECTORS = GraphEncoding(SPACE).encode(EVERY)


class Exact:
    """A codec that loses nothing: a node's latent numbers are its row of the matrix and its operation."""

    shape = GraphEncoding(SPACE).shape

    def nodes(self, vectors: np.ndarray) -> np.ndarray:
        return np.concatenate(self.shape.matrices(vectors), axis=2)

    def decode(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        edges, operations = np.split(latent, [self.shape.nodes], axis=2)
        return np.triu(edges > 0.5, 1), operations.argmax(axis=2)


CODEC = Exact()


def known(keys: Sequence[str]) -> np.ndarray:
    """A value that tells the key."""
    return np.array([float(int(key[:4], 16)) for key in keys])


def test_draws_are_those_that_figures_are_told_of() -> None:
    found = samples(CODEC, SPACE, EVERY, (3, 40), known, 5)
    told = generated(CODEC, VECTORS, SPACE, 5, DRAWS)
    assert found.valid / found.draws == pytest.approx(told["validity"])
    assert found.different / found.valid == pytest.approx(told["uniqueness"])
    assert len(found.cells) == min(SHOWN, found.different) > 1
    keys = [SPACE.recognised(cell.graph) for cell in found.cells if cell.graph is not None]
    assert len(set(keys)) == len(found.cells)
    assert [cell.value for cell in found.cells] == known([key for key in keys if key]).tolist()


def test_a_way_begins_and_ends_with_its_cells() -> None:
    latent = CODEC.nodes(VECTORS[[3, 40]])
    found = between(CODEC, SPACE, latent, known, 10)
    ends = [found[0].graph, found[-1].graph]
    assert ends == [next(iter(SPACE.graphs(EVERY[i]).values())) for i in (3, 40)]
    assert (found[0].share[0], found[-1].share[1]) == (0.0, 1.0)
    for one, other in itertools.pairwise(found):
        assert one.graph != other.graph
        assert other.share[0] - one.share[1] == pytest.approx(0.1)
    assert len(found) > 2
    for cell in found:
        assert np.isnan(cell.value) == (cell.graph is None)


class Broken(Exact):
    """Half-way, an edge that no cell has."""

    def decode(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        edges, operations = super().decode(latent)
        edges[4:7, 0, 7] = True
        return edges, operations


def test_what_is_no_cell_stands_together() -> None:
    found = between(Broken(), SPACE, CODEC.nodes(VECTORS[[3, 40]]), known, 10)
    none = [cell for cell in found if cell.graph is None]
    assert [cell.share for cell in none] == [pytest.approx((0.4, 0.6))]
    assert np.isnan(none[0].value)


def on_a_path(graph: Graph, node: int, inputs: Sequence[str]) -> bool:
    """By walking all paths."""
    ways = [[i] for i, name in enumerate(graph.operations) if name in inputs]
    while ways:
        way = ways.pop()
        if way[-1] == len(graph.operations) - 1 and node in way:
            return True
        ways += [[*way, y] for x, y in graph.edges if x == way[-1]]
    return False


def test_unused_nodes_are_left_out() -> None:
    rng = generator(0)
    for _ in range(50):
        edges = tuple(pair for pair in itertools.combinations(range(6), 2) if rng.random() < 0.35)
        graph = Graph(("in", "a", "in", "b", "c", "out"), edges)
        kept = [i for i in range(6) if i in (0, 2, 5) or on_a_path(graph, i, ("in",))]
        place = {node: new for new, node in enumerate(kept)}
        wanted = tuple((place[x], place[y]) for x, y in edges if x in place and y in place)
        assert used(graph, ("in",)) == Graph(tuple(graph.operations[i] for i in kept), wanted)


def test_complete_cells() -> None:
    space = NasBench101(nodes="2..4")
    found = [complete(space, one) for one in space.every()]
    assert found == [len(one["ops"]) == 4 for one in space.every()]  # type: ignore[arg-type]
    darts = Darts()
    assert complete(darts, darts.sample(generator(0)))
