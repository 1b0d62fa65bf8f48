"""Where the nodes and edges of a cell are drawn."""

from __future__ import annotations

import pytest

from secateur.rng import generator
from secateur.spaces.cells import Darts, Graph, NasBench101
from secateur.spaces.cells.drawing import described, drawn, rows_of


def test_an_edge_that_skips_a_column_has_a_lane_there() -> None:
    graph = Graph(("input", "a", "b", "output"), ((0, 1), (1, 2), (2, 3), (0, 3)))
    assert graph.depths() == (0, 1, 2, 3)
    rows = rows_of(graph)
    assert set(rows) == {(0, 0), (1, 1), (0, 1), (2, 2), (0, 2), (3, 3)}
    assert rows[0, 1] != rows[1, 1]
    assert rows[0, 2] != rows[2, 2]


@pytest.mark.parametrize("space", [NasBench101(), Darts()], ids=["nasbench101", "darts"])
def test_no_two_share_a_place(space: NasBench101 | Darts) -> None:
    for one in space.sample_many(30, generator(0)):
        for graph in space.graphs(one).values():
            rows = rows_of(graph)
            places = [(depth, row) for (_, depth), row in rows.items()]
            assert len(set(places)) == len(places)
            assert {(node, depth) for node, depth in enumerate(graph.depths())} <= rows.keys()


def test_a_drawing_says_what_it_shows() -> None:
    graph = Graph(("input", "<conv>", "output"), ((0, 1), (1, 2), (0, 2)))
    assert described(graph) == "0 input, 1 <conv> of 0, 2 output of 1 and 0"
    assert "<title>cell: 0 input, 1 &lt;conv&gt; of 0, 2 output of 1 and 0</title>" in drawn({"cell": graph})


def test_edges_go_forward() -> None:
    with pytest.raises(ValueError, match=r"the edge \(1, 0\) does not go forward between two of 2 nodes"):
        Graph(("input", "output"), ((1, 0),))
