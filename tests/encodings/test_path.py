"""Paths: against searches through the graphs by another library, and by hand."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.encodings import Encoding, Path, PathCategorical, PathContinuous, PathTruncated
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.cells import CateOutside, CellSpace, Darts, Graph, NasBench101, NasBench201

SPACES: dict[str, CellSpace] = {
    "nasbench101": NasBench101(nodes="2..5", edges="1..7"),
    "nasbench201": NasBench201(merged=False, operations=["none", "skip_connect", "nor_conv_3x3"]),
    "darts": Darts(nodes=2, operations=["skip_connect", "sep_conv_3x3"]),
    "darts-shared": Darts(True, nodes=3, operations=["skip_connect", "sep_conv_3x3"]),
}


def searched(space: CellSpace, graph: Graph) -> set[tuple[str, ...]]:
    """The paths that networkx finds, as the names of their operations after that of their input."""
    network = networkx.DiGraph(graph.edges)
    last = len(graph.operations) - 1
    found = set()
    for start in range(last):
        if graph.operations[start] in ("input", "c_{k-2}", "c_{k-1}"):
            for path in networkx.all_simple_paths(network, start, last) if start in network else ():
                names = [graph.operations[node] for node in path]
                if "none" not in names:
                    found.add((names[0], *(name for name in names[1:] if name in space.operations)))
    return found


def every_path(space: CellSpace, inputs: list[str], lengths: range) -> list[tuple[str, ...]]:
    passing = [name for name in space.operations if name != "none"]
    return [(i, *path) for n in lengths for i in inputs for path in itertools.product(passing, repeat=n)]


LISTED = {
    "nasbench101": every_path(SPACES["nasbench101"], ["input"], range(4)),
    "nasbench201": every_path(SPACES["nasbench201"], ["input"], range(1, 4)),
    "darts": every_path(SPACES["darts"], ["c_{k-2}", "c_{k-1}"], range(1, 3)),
    "darts-shared": every_path(SPACES["darts-shared"], ["c_{k-2}", "c_{k-1}"], range(1, 4)),
}
#: How many of the paths, shortest first, truncation keeps.
KEPT = {"nasbench101": 1 + 3 + 9, "nasbench201": 2 + 4, "darts": 2 * 2, "darts-shared": 2 * (2 + 4)}


@pytest.mark.parametrize("name", SPACES)
def test_every_cell_against_a_search_through_its_graph(name: str) -> None:
    space, listed = SPACES[name], LISTED[name]
    cells = list(itertools.islice(space.every(), 4000))
    found, short = Path(space).encode(cells), PathTruncated(space).encode(cells)
    numbers, values = PathCategorical(space).encode(cells), PathContinuous(space).encode(cells)
    roles = space.frame.roles
    assert found.shape[1] == len(roles) * len(listed)
    assert short.shape[1] == len(roles) * KEPT[name]
    most = 0
    for i, cell in enumerate(cells):
        for role, bits, few, ids, floats in zip(
            roles, *(np.split(a[i], len(roles)) for a in (found, short, numbers, values)), strict=True
        ):
            there = searched(space, space.graphs(cell)[role])
            most = max(most, len(there))
            by_hand = [float(path in there) for path in listed]
            assert bits.tolist() == by_hand
            assert few.tolist() == by_hand[: KEPT[name]]
            present = [place for place, bit in enumerate(by_hand, 1) if bit]
            assert np.rint(ids * len(listed)).tolist() == present + [0] * (len(ids) - len(present))
            assert set(np.argsort(-floats, kind="stable")[: len(present)] + 1) == set(present)
            assert floats.sum() == pytest.approx(len(listed) / 2)  # the mean of uniform values, whichever are largest
    assert numbers.shape[1] == len(roles) * space.frame.most_paths
    assert most <= space.frame.most_paths


def test_sizes_of_the_spaces() -> None:
    assert Path(NasBench101()).dimensions == sum(3**n for n in range(6)) == 364
    assert PathTruncated(NasBench101()).dimensions == 40
    assert PathCategorical(NasBench101()).dimensions == 8
    assert Path(NasBench201()).dimensions == 4 + 16 + 64
    assert PathTruncated(NasBench201()).dimensions == 4 + 16
    assert PathTruncated(Darts()).dimensions == 2 * 2 * (7 + 49)
    assert PathCategorical(Darts()).dimensions == 2 * (2 + 3 + 5 + 8)
    assert Path(CateOutside()).dimensions == 121


def test_a_cell_by_hand() -> None:
    """Paths 1×1 → pool, 1×1 and the direct one; operations count 3×3, 1×1, pool."""
    space = NasBench101(nodes="2..4", edges="1..5")
    matrix = [[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    cell = space.make({"matrix": matrix, "ops": ["input", "conv1x1-bn-relu", "maxpool3x3", "output"]})
    bits = Path(space).encode([cell])[0]
    assert np.flatnonzero(bits).tolist() == [0, 1 + 1, 1 + 3 + 1 * 3 + 2]
    assert PathCategorical(space).encode([cell])[0] == pytest.approx(np.array([1, 3, 10]) / 13)


def test_what_passes_nothing_on_is_no_path() -> None:
    space = NasBench201(merged=False)
    nothing = space.make({"cell": "|none~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|none~0|nor_conv_1x1~1|none~2|"})
    assert not Path(space).encode([nothing]).any()
    assert not PathCategorical(space).encode([nothing]).any()
    assert PathContinuous(space).encode([nothing]) == pytest.approx(0.5)


@pytest.mark.parametrize("kind", [Path, PathCategorical, PathContinuous, PathTruncated])
def test_cells_that_differ_in_the_order_of_their_nodes_are_equal(kind: type[Encoding]) -> None:
    space = Darts(True, nodes=3)
    first = [("sep_conv_3x3", 0), ("skip_connect", 1)]
    rest = [("max_pool_3x3", 0), ("max_pool_3x3", 1)]
    last = [("dil_conv_3x3", 2), ("dil_conv_5x5", 3)]
    swapped = [("dil_conv_5x5", 2), ("dil_conv_3x3", 3)]
    one, other = (
        space.make({"normal": cell, "reduction": cell}) for cell in ([*first, *rest, *last], [*rest, *first, *swapped])
    )
    assert one.key == other.key
    assert one != other
    assert np.array_equal(*kind(space).encode([one, other]))


@pytest.mark.parametrize("kind", [Path, PathContinuous])
def test_too_many_paths_are_refused(kind: type[Encoding]) -> None:
    told = f"the encoding `{kind.name}` of `darts` would have 11,200 dimensions. Use `path-truncated`."
    assert kind.refuses(Darts()) == told
    with pytest.raises(ConfigurationError, match="would have 5,600 dimensions"):
        kind(Darts(shared=True))


def by_blueprint(cell: Architecture) -> set[tuple[str, ...]]:
    """The four ways through NAS-Bench-201's six edges, as its strings number them."""
    names = [part.partition("~")[0] for part in str(cell["cell"]).replace("+", "").strip("|").split("|") if part]
    ways = [tuple(names[edge] for edge in way) for way in ([3], [0, 4], [1, 5], [0, 2, 5])]
    return {way for way in ways if "none" not in way}


def test_paths_of_nasbench201_as_its_strings_tell() -> None:
    space = NasBench201(merged=False)
    cells = space.sample_many(200, generator(0))
    listed = every_path(space, ["input"], range(1, 4))
    for cell, bits in zip(cells, Path(space).encode(cells), strict=True):
        assert {listed[place][1:] for place in np.flatnonzero(bits)} == by_blueprint(cell)
