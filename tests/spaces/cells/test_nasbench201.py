"""The cells of NAS-Bench-201."""

from __future__ import annotations

import re

import pytest

from secateur.errors import ConfigurationError
from secateur.spaces.cells import NasBench201
from secateur.spaces.cells.nasbench201 import same_network

SPACE = NasBench201()


def cell(*ops: str) -> dict[str, str]:
    a, b, c, d, e, f = ops
    return {"cell": f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"}


NONE, SKIP, C1, C3, POOL = "none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"


def test_as_many_networks_as_the_paper_counts() -> None:
    assert SPACE.size() == 15_625
    assert len(list(SPACE.every())) == 6_466
    assert len(list(NasBench201(merged=False).every())) == 15_625


def test_equal_networks_share_a_key() -> None:
    # node 1 is the input and node 2 the input again: either way to the output is the same 3 × 3 convolution.
    first, second = SPACE.make(cell(SKIP, NONE, SKIP, C3, NONE, NONE)), SPACE.make(cell(SKIP, NONE, SKIP, NONE, C3, NONE))
    assert first != second
    assert first.key == second.key
    each = NasBench201(merged=False)
    assert each.make(dict(first.choices)).key != each.make(dict(second.choices)).key
    assert same_network((C3, C3, POOL, SKIP, C1, NONE)) == "#+((0)@nor_conv_3x3)@nor_conv_1x1+0"
    assert same_network((NONE,) * 6) == "#+#+#"


def test_parameters_by_hand() -> None:
    """Around the cells: stem, two residual blocks, last normalisation, classifier."""
    around = 464 + (4608 + 64 + 9216 + 64 + 512) + (18432 + 128 + 36864 + 128 + 2048) + 128 + 650
    assert SPACE.parameters(SPACE.make(cell(*[NONE] * 6))) == around == 73_306
    three = 5 * sum(9 * c * c + 2 * c for c in (16, 32, 64))
    one = 5 * sum(c * c + 2 * c for c in (16, 32, 64))
    assert SPACE.parameters(SPACE.make(cell(C3, POOL, SKIP, C1, C3, NONE))) == around + 2 * three + one
    assert SPACE.parameters(SPACE.largest()) == 73_306
    assert SPACE.parameters(SPACE.make(cell(*[C3] * 6))) == 1_531_546  # the most that the benchmark has


def test_operations_of_edges_become_nodes() -> None:
    graph = SPACE.graphs(SPACE.make(cell(C3, POOL, SKIP, C1, C3, NONE)))["cell"]
    assert graph.operations == ("input", C3, POOL, SKIP, C1, C3, NONE, "output")
    assert sorted(graph.edges) == [(0, 1), (0, 2), (0, 4), (1, 3), (1, 5), (2, 6), (3, 6), (4, 7), (5, 7), (6, 7)]
    assert graph.depths() == (0, 1, 1, 2, 1, 2, 3, 4)


def test_distance_counts_edges() -> None:
    a, b = SPACE.make(cell(C3, POOL, SKIP, C1, C3, NONE)), SPACE.make(cell(C3, C3, SKIP, C1, C1, NONE))
    assert SPACE.distance(a, b) == 2


@pytest.mark.parametrize(
    ("choices", "rule"),
    [
        (cell(*[C3] * 5, "conv"), f"unknown operation `conv`; known are {NONE}, {SKIP}, {C1}, {C3}, {POOL}"),
        ({"cell": "|none~0|"}, "it must look like |op~0|+|op~0|op~1|+|op~0|op~1|op~2|, got `|none~0|`"),
        ({"cell": 3}, "expected string or bytes-like object, got 'int'"),
        ({}, "there is no `cell`"),
    ],
)
def test_a_string_outside_is_refused_with_its_rule(choices: dict[str, str], rule: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{re.escape(f'the cell is not one of `nasbench201`: {rule}.')}$"):
        SPACE.make(choices)
