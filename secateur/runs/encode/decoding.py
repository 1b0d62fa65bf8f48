"""What a decoder makes of latent numbers: random draws, and the way from one cell to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.encodings import GraphEncoding
from secateur.encodings.learned.figures import Codec, decoded, drawn
from secateur.report.encoding_data import Decoded, Samples
from secateur.spaces.cells import CellSpace, Graph

#: Random draws, how many cells of them are shown, and steps from one cell to another.
DRAWS, SHOWN, STEPS = 1_000, 12, 20
#: Keys of cells to their values, NaN where none is known.
Values = Callable[[Sequence[str]], np.ndarray]


def samples(
    codec: Codec, space: CellSpace, architectures: Sequence[Architecture], ends: tuple[int, int], values: Values, seed: int
) -> Samples:
    """Draws from the prior, scaled and shifted as the cells of architectures lie, and the way between two of these."""
    vectors = GraphEncoding(space).encode(architectures)
    found: dict[str, Graph] = {}
    valid = 0
    for graph in drawn(codec, vectors, space, seed, DRAWS):
        key = space.recognised(graph)
        if key is not None:
            valid += 1
            found.setdefault(key, used(graph, space.frame.inputs))
    first = dict(list(found.items())[:SHOWN])
    cells = [Decoded(graph, value) for graph, value in zip(first.values(), values(list(first)).tolist(), strict=True)]
    first_cells = codec.nodes(vectors[list(ends)])[:: codec.shape.cells]
    return Samples(DRAWS, valid, len(found), cells, between(codec, space, first_cells, values))


def between(codec: Codec, space: CellSpace, ends: np.ndarray, values: Values, steps: int = STEPS) -> list[Decoded]:
    """What is decoded in equal steps on the straight line between two cells' latent nodes (2, nodes, latent); steps that make
    the same cell, or none, stand together."""
    shares = np.linspace(0, 1, steps + 1)
    latent = ends[0] + shares[:, None, None] * (ends[1] - ends[0])
    graphs = decoded(codec, latent, space)
    keys = [space.recognised(graph) for graph in graphs]
    found: list[Decoded] = []
    for place, key in enumerate(keys):
        share = float(shares[place])
        if place and key == keys[place - 1]:
            found[-1] = Decoded(found[-1].graph, found[-1].value, (found[-1].share[0], share))
        else:
            graph = None if key is None else used(graphs[place], space.frame.inputs)
            value = np.nan if key is None else float(values([key])[0])
            found.append(Decoded(graph, value, (share, share)))
    return found


def used(graph: Graph, inputs: Sequence[str]) -> Graph:
    """The graph without nodes that no data passes on its way from an input to the last node; inputs stay."""
    n = len(graph.operations)
    forward = [name in inputs for name in graph.operations]
    back = [False] * (n - 1) + [True]
    for source, target in sorted(graph.edges):
        forward[target] |= forward[source]
    for source, target in sorted(graph.edges, reverse=True):
        back[source] |= back[target]
    kept = [i for i in range(n) if graph.operations[i] in inputs or i == n - 1 or (forward[i] and back[i])]
    place = {node: new for new, node in enumerate(kept)}
    edges = tuple((place[x], place[y]) for x, y in graph.edges if x in place and y in place)
    return Graph(tuple(graph.operations[i] for i in kept), edges)


def complete(space: CellSpace, architecture: Architecture) -> bool:
    """Whether the cells have as many nodes as the decoder writes: of smaller ones it cannot know where they end."""
    return all(len(graph.operations) == space.frame.nodes for graph in space.graphs(architecture).values())
