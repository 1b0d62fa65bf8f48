"""Where the nodes and edges of a cell are drawn."""

from __future__ import annotations

import pytest

from secateur.rng import generator
from secateur.spaces.cells import Darts, Graph, NasBench101
from secateur.spaces.cells.drawing import Look, described, drawn, rows_of, short


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


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nor_conv_3x3", "conv 3×3"),
        ("conv1x1-bn-relu", "conv 1×1"),
        ("maxpool3x3", "max 3×3"),
        ("avg_pool_3x3", "avg 3×3"),
        ("sep_conv_5x5", "sep 5×5"),
        ("skip_connect", "skip"),
        ("input", "input"),
        ("c_{k-2}", "c_{k-2}"),
    ],
)
def test_short_names(name: str, said: str) -> None:
    assert short(name) == said


def test_a_narrow_drawing_has_short_names_and_says_the_full_ones() -> None:
    graph = Graph(("input", "nor_conv_3x3", "output"), ((0, 1), (1, 2)))
    narrow, wide = drawn({"cell": graph}, Look.narrow(graph.operations)), drawn({"cell": graph})
    assert ">conv 3×3</text>" in narrow
    assert ">nor_conv_3x3</text>" in wide
    assert "1 nor_conv_3x3 of 0" in narrow
    widths = [int(picture.partition('viewBox="0 0 ')[2].split()[0]) for picture in (narrow, wide)]
    assert widths == [3 * (12 + 6 * 8) + 2 * 24 + 2 * 12, 3 * 118 + 2 * 44 + 2 * 12]


def test_edges_go_forward() -> None:
    with pytest.raises(ValueError, match=r"the edge \(1, 0\) does not go forward between two of 2 nodes"):
        Graph(("input", "output"), ((1, 0),))
