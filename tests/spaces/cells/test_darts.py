"""The cells of DARTS."""

from __future__ import annotations

import itertools
import re
import time
from typing import Any

import numpy as np
import pytest

from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.cells import Darts
from secateur.spaces.cells.darts_cells import Genotype

SPACE, SHARED = Darts(), Darts(shared=True)
SKIP, SEP, POOL = "skip_connect", "sep_conv_3x3", "max_pool_3x3"
#: A cell found by the DARTS authors (second order, CIFAR-10).
NORMAL = ((SEP, 0), (SEP, 1), (SEP, 0), (SEP, 1), (SEP, 1), (SKIP, 0), (SKIP, 0), ("dil_conv_3x3", 2))
REDUCTION = ((POOL, 0), (POOL, 1), (SKIP, 2), (POOL, 1), (POOL, 0), (SKIP, 2), (SKIP, 2), (POOL, 1))


def spellings(genotype: Genotype) -> set[tuple[Any, ...]]:
    """A cell in every order of its nodes in which data goes forward, each node's inputs sorted."""
    out = set()
    for order in itertools.permutations(range(4)):
        to = {0: 0, 1: 1, **{2 + node: 2 + at for at, node in enumerate(order)}}
        nodes = [sorted((to[x], op) for op, x in genotype[2 * node : 2 * node + 2]) for node in order]
        if all(x < 2 + at for at, inputs in enumerate(nodes) for x, _ in inputs):
            out.add(tuple(map(tuple, nodes)))
    return out


def test_sizes() -> None:
    assert SHARED.size() == 1 * 3 * 6 * 10 * 7**8 == 1_037_664_180
    assert SPACE.size() == SHARED.size() ** 2


def test_keys_are_equal_for_isomorphic_cells_and_no_others() -> None:
    few = Darts(shared=True, operations=(SKIP, SEP))
    drawn = few.sample_many(1500, generator(0))
    by_key: dict[str, set[Any]] = {}
    for a in drawn:
        by_key.setdefault(a.key, set()).add(min(spellings(a["normal"])))
    assert all(len(found) == 1 for found in by_key.values())
    assert len(by_key) == len(set.union(*by_key.values())) < len(drawn)
    assert all(SHARED.make(dict(a.choices)).key == SPACE.make(dict(a.choices)).key == a.key for a in drawn[:50])


def test_a_published_cell() -> None:
    one = SPACE.make({"normal": NORMAL, "reduction": REDUCTION})
    assert SPACE.contains(one)
    other = SPACE.make({"normal": NORMAL[1::-1] + NORMAL[2:], "reduction": [list(edge) for edge in REDUCTION]})
    assert one == other, "the two inputs of a node have no order"
    swapped = NORMAL[2:4] + NORMAL[:2] + NORMAL[4:6] + ((SKIP, 0), ("dil_conv_3x3", 3))  # the first two nodes change places
    same = SPACE.make({"normal": swapped, "reduction": REDUCTION})
    assert same != one
    assert same.key == one.key
    assert SPACE.distance(one, same) == 0
    changed = SPACE.make({"normal": (*swapped[:6], (SEP, 0), ("dil_conv_3x3", 3)), "reduction": REDUCTION})
    assert SPACE.distance(one, changed) == 1
    assert SPACE.parameters(one) is None


def test_graphs_have_fifteen_nodes() -> None:
    one = SPACE.make({"normal": NORMAL, "reduction": REDUCTION})
    graphs = SPACE.graphs(one)
    assert list(graphs) == ["normal", "reduction"]
    assert all(len(graph.operations) == 15 for graph in graphs.values())
    assert graphs["normal"].operations[:5] == ("c_{k-2}", "c_{k-1}", SEP, SEP, "sum")
    assert {(0, 2), (1, 3), (2, 4), (3, 4), (4, 14), (4, 12)} <= set(graphs["normal"].edges)
    assert list(SHARED.graphs(SHARED.make({"normal": NORMAL, "reduction": NORMAL}))) == ["cell"]


def test_drawing_many_is_drawing_one_many_times() -> None:
    values = SPACE.sample_values(200, generator(3))
    many = SPACE.sample_many(200, generator(3))
    assert many == [SPACE.from_values(row) for row in values]
    assert [a.key for a in many] == SPACE.keys(values)
    assert np.array_equal(np.stack([SPACE.values(a) for a in many]), values)


def test_drawing_many_is_quick() -> None:
    start = time.process_time()
    SPACE.sample_many(20_000, generator(0))
    assert time.process_time() - start < 1.2, "a million should take a minute at most"


@pytest.mark.parametrize(
    ("choices", "rule"),
    [
        ({"normal": NORMAL}, "there is no `reduction`"),
        ({"normal": NORMAL[:-1], "reduction": NORMAL}, "a cell is 8 pairs of operation and place, two for each of 4 nodes"),
        ({"normal": 5, "reduction": NORMAL}, "'int' object is not iterable"),
        (
            {"normal": ((SEP, 0), (SEP, 2), *NORMAL[2:]), "reduction": NORMAL},
            "node 2 must take two different places from 0 to 1, got 0 and 2",
        ),
        (
            {"normal": (*NORMAL[:6], (SEP, 3), (SKIP, 3)), "reduction": NORMAL},
            "node 5 must take two different places from 0 to 4, got 3 and 3",
        ),
    ],
)
def test_cells_outside_are_refused_with_their_rule(choices: dict[str, Any], rule: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{re.escape(f'the cells are not of `darts`: {rule}.')}$"):
        SPACE.make(choices)


def test_unknown_operations_and_two_cells_for_one() -> None:
    with pytest.raises(ConfigurationError, match="unknown operation `none`; known are max_pool_3x3"):
        SPACE.make({"normal": (("none", 0), *NORMAL[1:]), "reduction": NORMAL})
    with pytest.raises(ConfigurationError, match="differ, and the space has one for both"):
        SHARED.make({"normal": NORMAL, "reduction": REDUCTION})
