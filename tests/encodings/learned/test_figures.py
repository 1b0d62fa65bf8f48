"""What is told of an autoencoder, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.encodings import GraphEncoding
from secateur.encodings.learned.figures import generated, rebuilt, told
from secateur.spaces.cells import NasBench101, NasBench201


class Fake:
    """Decodes whatever it was given."""

    def __init__(self, encoding: GraphEncoding, edges: np.ndarray, operations: np.ndarray) -> None:
        self.shape, self.edges, self.operations = encoding.shape, edges, operations

    def nodes(self, vectors: np.ndarray) -> np.ndarray:
        return np.zeros((len(vectors), self.shape.nodes, 2))

    def decode(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.edges[: len(latent)], self.operations[: len(latent)]


def test_rebuilt_cells_by_hand() -> None:
    """Two cells of three and four nodes: an edge of the first is lost, and an operation of the second is another. What is said
    of an absent node, or below the diagonal, does not count."""
    space = NasBench101(nodes="2..4")
    small = {"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "maxpool3x3", "output"]}
    large = {"matrix": np.eye(4, k=1, dtype=int), "ops": ["input", "maxpool3x3", "conv1x1-bn-relu", "output"]}
    encoding = GraphEncoding(space)
    vectors = encoding.encode([space.make(small), space.make(large), space.make(large)])
    edges, operations = encoding.shape.matrices(vectors)
    edges, names = edges.copy(), operations.argmax(axis=2)
    edges[0, 0, 2] = 0
    edges[1, 3, 0] = 1
    names[0, 3] = 2
    names[1, 1] = (names[1, 1] + 1) % 5
    found = rebuilt(Fake(encoding, edges, names), vectors)
    assert found == pytest.approx({"operations": 10 / 11, "edges": 17 / 18, "cells": 1 / 3})


def test_draws_of_nasbench201_by_hand() -> None:
    """Four draws: two spellings of one cell, one with a wrong edge, one with a wrong name."""
    space = NasBench201(merged=False)
    encoding = GraphEncoding(space)
    vectors = encoding.encode([space.smallest()])
    edges, operations = encoding.shape.matrices(np.repeat(vectors, 4, axis=0))
    edges, names = edges.copy(), operations.argmax(axis=2)
    edges[1, 0, 7] = 1  # the output never takes the input itself
    names[2, 3] = 0  # an input among the operations
    found = generated(Fake(encoding, edges, names), vectors, space, 0, samples=4)
    said = {"validity": 2 / 4, "uniqueness": 1 / 2, "read_validity": 3 / 4, "read_uniqueness": 1 / 3, "spelt_uniqueness": 2 / 3}
    assert found == pytest.approx(said)


def test_draws_of_nasbench101_are_counted_pruned() -> None:
    """Two graphs differ in a node that is not used: two spellings, one cell."""
    space = NasBench101(nodes="2..4")
    encoding = GraphEncoding(space)
    edges = np.zeros((3, 4, 4), dtype=int)
    edges[:, 0, 1] = edges[:, 1, 3] = 1
    edges[1, 0, 2] = 1  # leads nowhere
    edges[2, 1, 3] = 0  # no output
    names = np.array([[0, 1, 4, 4], [0, 1, 2, 4], [0, 1, 2, 4]])
    vectors = encoding.encode([space.largest()])
    found = generated(Fake(encoding, edges, names), vectors, space, 0, samples=3)
    assert found == pytest.approx({"validity": 2 / 3, "uniqueness": 1 / 2, "spelt_uniqueness": 1.0})


def test_draws_of_fewer_nodes() -> None:
    """Behind their last node there is none: the same cell as one that has an unused node before its output, and no cell where
    the last is no output or there is none at all."""
    space = NasBench101(nodes="2..4")
    encoding = GraphEncoding(space)
    edges = np.zeros((4, 4, 4), dtype=int)
    edges[:3, 0, 1] = edges[[0, 2], 1, 2] = edges[1, 1, 3] = 1
    names = np.array([[0, 1, 4, -1], [0, 1, 2, 4], [0, 1, 2, -1], [-1, -1, -1, -1]])
    vectors = encoding.encode([space.largest()])
    found = generated(Fake(encoding, edges, names), vectors, space, 0, samples=4)
    assert found == pytest.approx({"validity": 2 / 4, "uniqueness": 1 / 2, "spelt_uniqueness": 1.0})


def test_figures_in_words() -> None:
    assert told("read_validity", 0.25) == "read validity 25.00 %"
    assert told("rmse", 1.18349) == "rmse 1.183"


def test_draws_lie_as_the_cells_do() -> None:
    """Each node's draws have the mean and the deviation of that node over the cells."""
    space = NasBench201(merged=False)
    encoding = GraphEncoding(space)
    seen: list[np.ndarray] = []

    class Spread(Fake):
        def nodes(self, vectors: np.ndarray) -> np.ndarray:
            return np.arange(8)[:, None] + np.array([-1.0, 1.0])[:, None, None] * np.array([2.0, 5.0])

        def decode(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            seen.append(latent)
            return np.zeros((len(latent), 8, 8), dtype=int), np.zeros((len(latent), 8), dtype=int)

    found = generated(Spread(encoding, np.zeros(0), np.zeros(0)), np.zeros((2, 0)), space, 0, samples=4000)
    assert found["validity"] == found["uniqueness"] == 0
    assert seen[0].mean(axis=0) == pytest.approx(np.repeat(np.arange(8.0)[:, None], 2, axis=1), abs=0.3)
    assert seen[0].std(axis=0) == pytest.approx(np.tile([2.0, 5.0], (8, 1)), rel=0.1)
