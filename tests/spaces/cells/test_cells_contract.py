"""Every space of cells under the contract, in sizes that can be enumerated."""

from __future__ import annotations

import pickle
from xml.etree import ElementTree

import pytest

from secateur import catalogue
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.cells import CateOutside, CellSpace, Darts, Graph, NasBench101, NasBench201
from secateur.testing.spaces import ProductSpaceContract, SpaceContract

GRAPHS = {
    "nasbench101, 4 nodes": NasBench101(nodes="2..4"),
    "nasbench101, 5 nodes, 5 edges": NasBench101(nodes="2..5", edges="1..5"),
    "nasbench101, one cell": NasBench101(nodes="2"),
    "cate-outside, 4 nodes": CateOutside(nodes="4", edges="4..6"),
    "cate-outside, 5 nodes": CateOutside(nodes="5", edges="7..9"),
}
PRODUCTS = {
    "nasbench201": NasBench201(operations=("none", "skip_connect", "nor_conv_3x3")),
    "nasbench201, each string": NasBench201(merged=False, operations=("none", "nor_conv_1x1")),
    "darts": Darts(nodes=2, operations=("skip_connect", "dil_conv_5x5")),
    "darts, one cell": Darts(shared=True, nodes=3, operations=("max_pool_3x3", "sep_conv_3x3")),
}
WHOLE = {name: catalogue.find("space", name, "bench")() for name in catalogue.names("space", "bench")}


class TestGraphs(SpaceContract):
    @pytest.fixture(params=GRAPHS.values(), ids=GRAPHS)
    def space(self, request: pytest.FixtureRequest) -> CellSpace:
        return request.param


class TestProducts(ProductSpaceContract):
    @pytest.fixture(params=PRODUCTS.values(), ids=PRODUCTS)
    def space(self, request: pytest.FixtureRequest) -> CellSpace:
        return request.param


@pytest.mark.parametrize("space", WHOLE.values(), ids=WHOLE)
def test_what_the_whole_spaces_hold(space: CellSpace) -> None:
    rng = generator(0)
    a, b = space.sample_many(2, rng)
    for one in (
        a,
        b,
        space.smallest(),
        space.largest(),
        space.mutate(a, rng),
        space.mutate(a, rng, 0.2),
        space.crossover(a, b, rng),
    ):
        assert space.contains(one)
        assert space.make(dict(one.choices)) == one
    assert space.encode_many([a, b]).shape == (2, space.dimensions)
    step = next(iter(space.neighbours(a)))
    assert space.contains(step)
    assert space.distance(a, a) == 0 < space.distance(a, b) == space.distance(b, a)
    for graph in space.graphs(a).values():
        matrix = graph.matrix
        assert matrix.sum() == len(graph.edges)
        assert (matrix[:-1].sum(axis=1) > 0).all(), "a node leads nowhere"


@pytest.mark.parametrize("space", WHOLE.values(), ids=WHOLE)
def test_spaces_travel_between_processes(space: CellSpace) -> None:
    again = pickle.loads(pickle.dumps(space))
    drawn = space.sample_many(5, generator(2))
    assert again.sample_many(5, generator(2)) == drawn
    assert [again.make(dict(a.choices)) for a in drawn] == drawn


@pytest.mark.parametrize("space", WHOLE.values(), ids=WHOLE)
def test_drawings_show_every_node_and_edge(space: CellSpace) -> None:
    one = space.sample(generator(1))
    tree = ElementTree.fromstring(space.picture(one))
    graphs = space.graphs(one)
    tag = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in tree.iter(f"{tag}text")]
    assert texts == [text for role, graph in graphs.items() for text in (role, *graph.operations)]
    assert len(list(tree.iter(f"{tag}rect"))) == sum(len(graph.operations) for graph in graphs.values())
    assert len([p for p in tree.iter(f"{tag}path") if p.get("marker-end")]) == sum(len(g.edges) for g in graphs.values())


@pytest.mark.parametrize("name", WHOLE)
def test_jobs_that_build_networks_are_not_offered_cells(name: str) -> None:
    for job in ("prune", "design"):
        with pytest.raises(ConfigurationError, match=f"unknown space `{name}`"):
            catalogue.check("space", name, job)


def test_operations_are_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="unknown operation `conv`"):
        NasBench201(operations=("conv",))
    with pytest.raises(ConfigurationError, match="at least one"):
        Darts(operations=())
    with pytest.raises(ConfigurationError, match=r"`nodes` must lie in 1\.\.4, got 5"):
        Darts(nodes=5)


@pytest.mark.parametrize("space", [*GRAPHS.values(), *PRODUCTS.values()], ids=[*GRAPHS, *PRODUCTS])
def test_graphs_are_recognised(space: CellSpace) -> None:
    """As many different cells as keys among all, whatever the order of edges; none with a name too few or an edge too many."""
    frame = space.frame
    keys: dict[str, set[str]] = {}
    for architecture in list(space.every())[:300]:
        if len(frame.roles) > 1:  # one cell at a time
            continue
        (graph,) = space.graphs(architecture).values()
        found = space.recognised(Graph(graph.operations, graph.edges[::-1]))
        assert found is not None
        keys.setdefault(found, set()).add(architecture.key)
        assert space.recognised(Graph(("nothing", *graph.operations[1:]), graph.edges)) is None
        assert space.recognised(Graph(graph.operations, graph.edges[:-1])) != found
    assert all(len(same) == 1 for same in keys.values())
    assert len(keys) == len(set().union(*keys.values())) if keys else len(frame.roles) > 1


def test_cells_of_darts_are_recognised_one_by_one() -> None:
    """Both cells of an architecture; cells that differ in the order of their nodes are one."""
    space = Darts()
    a, b = ("skip_connect", 0), ("sep_conv_3x3", 1)
    rest = (("max_pool_3x3", 0), ("max_pool_3x3", 1)) * 2
    one, other = (space.make({"normal": cell, "reduction": cell}) for cell in ((a, b, b, a, *rest), (b, a, a, b, *rest)))
    turned = space.make({"normal": (*rest[:2], a, b, *rest[:2], a, b), "reduction": (a, b, a, b, *rest)})
    found = {space.recognised(graph) for x in (one, other) for graph in space.graphs(x).values()}
    assert len(found) == 1
    assert {space.recognised(graph) for graph in space.graphs(turned).values()} == found
    graph = space.graphs(one)["normal"]
    assert space.recognised(Graph(graph.operations, (*graph.edges, (0, 14)))) is None
    assert space.recognised(Graph(("c_{k-1}", *graph.operations[1:]), graph.edges)) is None


def test_a_graph_with_unused_nodes_is_recognised() -> None:
    """Whatever stands in a node that is not used; and in no other."""
    space = NasBench101(nodes="2..5")
    used = Graph(("input", "maxpool3x3", "output"), ((0, 1), (1, 2)))
    names = ("input", "maxpool3x3", "output", "input", "output")
    padded = Graph(names, ((0, 1), (1, 4), (0, 3)))
    assert space.recognised(padded) == space.recognised(used) is not None
    assert space.recognised(Graph(names, ((0, 1), (1, 3), (3, 4)))) is None
    assert NasBench101(nodes="4..5").recognised(padded) is None, "too few nodes once pruned"
