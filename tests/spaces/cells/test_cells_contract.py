"""Every space of cells under the contract, in sizes that can be enumerated."""

from __future__ import annotations

import pickle
from xml.etree import ElementTree

import pytest

from secateur import catalogue
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.cells import CateOutside, CellSpace, Darts, NasBench101, NasBench201
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
