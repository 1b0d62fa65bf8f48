"""How good an autoencoder of cells is: what it rebuilds, and what it makes of random numbers (Yan 2022, table 3.1)."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from secateur.encodings.graph import Shape
from secateur.rng import generator
from secateur.spaces.cells import CellSpace, Graph

#: Figures that are no shares.
NUMBERS = ("spearman", "rmse")
#: Draws from the prior, and architectures that are looked at at once.
SAMPLES, CHUNK = 10_000, 16_384


def told(name: str, value: float) -> str:
    """A figure in words."""
    return f"{name.replace('_', ' ')} " + (f"{value:.4g}" if name in NUMBERS else f"{100 * value:.2f} %")


class Codec(Protocol):
    """What turns cells (n) into latent nodes (n, nodes, latent), or one latent vector each (n, 1, latent), and back: edges
    (n, nodes, nodes) and places of operations (n, nodes), −1 where there is no node."""

    shape: Shape

    def nodes(self, vectors: np.ndarray) -> np.ndarray: ...
    def decode(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


def rebuilt(codec: Codec, vectors: np.ndarray) -> dict[str, float]:
    """The shares of operations of nodes that are there, of possible edges, and of whole cells that come back as they were."""
    edges, operations = codec.shape.matrices(vectors)
    found_edges, found_operations = codec.decode(codec.nodes(vectors))
    above = np.triu(np.ones(edges.shape[1:], dtype=bool), 1)
    same_edges = (found_edges == edges)[:, above]
    there = operations.any(axis=2)
    same_operations = (found_operations == operations.argmax(axis=2)) | ~there
    return {
        "operations": float(same_operations[there].mean()),
        "edges": float(same_edges.mean()),
        "cells": float((same_edges.all(axis=1) & same_operations.all(axis=1)).mean()),
    }


def generated(codec: Codec, vectors: np.ndarray, space: CellSpace, seed: int, samples: int = SAMPLES) -> dict[str, float]:
    """What becomes of random latent nodes, scaled and shifted as those of `vectors` lie: the share that are cells of the space,
    and the share of different ones among these.

    Where all cells have the same edges, `read_validity` and `read_uniqueness` are those of the operations alone, whatever edges
    were decoded. `spelt_uniqueness` counts graphs as the released code does: decoded edges and unused nodes make a difference.
    """
    graphs = drawn(codec, vectors, space, seed, samples)
    whole = [space.recognised(graph) for graph in graphs]
    read = whole
    if not space.frame.edges:
        fixed = next(iter(space.graphs(space.smallest()).values())).edges
        read = [space.recognised(Graph(graph.operations, fixed)) for graph in graphs]
    spelt = [graph for graph, key in zip(graphs, read, strict=True) if key is not None]
    figures = {"validity": _valid(whole), "uniqueness": _unique(whole)}
    if not space.frame.edges:
        figures |= {"read_validity": _valid(read), "read_uniqueness": _unique(read)}
    return {**figures, "spelt_uniqueness": len(set(spelt)) / max(1, len(spelt))}


def drawn(codec: Codec, vectors: np.ndarray, space: CellSpace, seed: int, samples: int) -> list[Graph]:
    """The graphs of random latent nodes, scaled and shifted as those of `vectors` lie."""
    means, deviations = _spread(codec, vectors)
    noise = generator(seed, "prior").standard_normal((samples, *means.shape))
    return decoded(codec, noise * deviations + means, space)


def decoded(codec: Codec, latent: np.ndarray, space: CellSpace) -> list[Graph]:
    """The likeliest graphs of latent nodes (n, nodes, latent), unused nodes among theirs."""
    edges, operations = _ended(*codec.decode(latent))
    names = np.array([*space.frame.names, ""], dtype=object)[operations]
    return [
        Graph(tuple(row), tuple(zip(*(place.tolist() for place in matrix.nonzero()), strict=True)))
        for row, matrix in zip(names, edges, strict=True)
    ]


def _ended(edges: np.ndarray, operations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Graphs with their last nodes in the last place, where spaces look for the output. Those of fewer nodes, −1 behind their
    last, had it before."""
    nodes = operations.shape[1]
    last, places = np.maximum((operations >= 0).sum(axis=1, keepdims=True) - 1, 0), np.arange(nodes)
    order = np.where(places < last, places, np.where(places < nodes - 1, places + 1, last))
    edges = np.take_along_axis(np.take_along_axis(edges, order[:, :, None], axis=1), order[:, None, :], axis=2)
    return edges, np.take_along_axis(operations, order, axis=1)


def _spread(codec: Codec, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The means and deviations (nodes, latent) of the nodes of all cells, which need not be in memory at once."""
    count, total, squares = 0, np.zeros(()), np.zeros(())
    for start in range(0, len(vectors), CHUNK):
        latent = codec.nodes(vectors[start : start + CHUNK]).astype(np.float64)
        count, total, squares = count + len(latent), total + latent.sum(axis=0), squares + (latent**2).sum(axis=0)
    return total / count, np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0))


def _valid(keys: list[str | None]) -> float:
    return sum(key is not None for key in keys) / len(keys)


def _unique(keys: list[str | None]) -> float:
    valid = [key for key in keys if key is not None]
    return len(set(valid)) / max(1, len(valid))
