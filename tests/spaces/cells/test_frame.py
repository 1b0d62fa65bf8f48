"""What a space says its graphs have in common, against its graphs."""

from __future__ import annotations

import networkx
import pytest

from secateur.rng import generator
from secateur.spaces.cells import CateOutside, CellSpace, Darts, NasBench101, NasBench201

SPACES = {
    "nasbench101": NasBench101(nodes="2..5", edges="1..7"),
    "few-edges": NasBench101(nodes="2..5", edges="1..4"),
    "cate-outside": CateOutside(),
    "nasbench201": NasBench201(),
    "darts": Darts(),
    "darts-shared": Darts(True, nodes=3),
    "darts-small": Darts(nodes=1),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_edges_nodes_and_paths_are_those_that_vary(space: CellSpace) -> None:
    """The output of smaller graphs stands last."""
    frame = space.frame
    last = frame.nodes - 1
    found, counts, lengths = [], set(), set()
    names: list[set[str]] = [set() for _ in range(frame.nodes)]
    for cell in space.sample_many(1500, generator(0)):
        graphs = space.graphs(cell)
        assert tuple(graphs) == frame.roles
        graph = graphs[frame.roles[-1]]
        own = len(graph.operations) - 1
        found.append({(x, last if y == own else y) for x, y in graph.edges})
        for place, name in enumerate(graph.operations):
            names[last if place == own else place].add(name)
        network = networkx.DiGraph(graph.edges)
        starts = [node for node, name in enumerate(graph.operations) if name in frame.inputs and node in network]
        paths = [path for start in starts for path in networkx.all_simple_paths(network, start, own)]
        counts.add(len(paths))
        lengths |= {sum(graph.operations[node] in space.operations for node in path) for path in paths}
    vary = set.union(*found) - set.intersection(*found)
    if isinstance(space, NasBench101):  # which counts any two nodes, whatever its bounds
        assert vary <= set(frame.edges)
    else:
        assert vary == set(frame.edges)
    assert max(len(edges & set(frame.edges)) for edges in found) == frame.most_edges
    assert frame.chosen == tuple(place for place, some in enumerate(names) if some & set(space.operations))
    assert set.union(*names) == set(frame.names)
    assert (min(lengths), max(lengths)) == frame.lengths
    assert max(counts) == frame.most_paths
    assert frame.passing == tuple(name for name in space.operations if name != "none")
