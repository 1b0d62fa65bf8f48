"""The cells of NAS-Bench-101 and of the space outside an encoding's training."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.cells import CateOutside, NasBench101, enumeration
from secateur.spaces.cells.nasbench101_counts import widths
from secateur.spaces.cells.structures import Cell

C3, C1, MP = "conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3"
SPACE = NasBench101()
SMALL = NasBench101(nodes="2..4")


def spelt(edges: str, *ops: str, nodes: int | None = None) -> dict[str, Any]:
    """Edges as `01 02 13`."""
    nodes = nodes or len(ops) + 2
    matrix = [[0] * nodes for _ in range(nodes)]
    for edge in edges.split():
        matrix[int(edge[0])][int(edge[1])] = 1
    return {"matrix": matrix, "ops": ["input", *ops, "output"]}


@pytest.mark.parametrize(
    ("choices", "key", "parameters"),
    [
        (spelt("01 03 12 13 15 25 34 45 56", C3, C3, C3, C1, MP), "075efa41931260475a6c4c72f1a918e6", 30679178),
        (spelt("01 02 03 12 23 34", C3, MP, C3), "0baa62900096dc6992a5b359e8a2ca68", 21220234),
        (spelt("01 02 03 12 13 23 34", C1, C1, C1), "19ddc945f3e7c49c7e44c11b6f78ae7d", 5742730),
    ],
)
def test_a_cell_of_the_benchmark_has_its_key_and_parameters(choices: dict[str, Any], key: str, parameters: int) -> None:
    one = SPACE.make(choices)
    assert one.key == key
    assert SPACE.parameters(one) == parameters
    assert one.as_dict()["choices"] == {name: _tuples(value) for name, value in choices.items()}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def test_any_spelling_is_taken() -> None:
    one = SPACE.make(spelt("01 02 13 23", C3, MP))
    assert SPACE.make(spelt("01 02 13 23", MP, C3)) == one
    assert SPACE.make(spelt("01 02 14 24 03 34", C3, MP, C1)) != one
    unused = spelt("01 02 14 24 03", C3, MP, C1)  # node 3 leads nowhere
    assert SPACE.make(unused) == one
    assert SPACE.make({**unused, "matrix": np.array(unused["matrix"])}) == one
    many = spelt("01 09", *[C3] * 8)
    assert SPACE.make(many) == SPACE.smallest()
    assert not SPACE.contains(Architecture.of("nasbench101", spelt("01 02 13 23", MP, C3), one.key))
    assert not SPACE.contains(Architecture("nasbench101", one.choices, "0" * 32))


@pytest.mark.parametrize(
    ("choices", "rule"),
    [
        (spelt("01 12 23 34 45 56 67", *[C3] * 6), "it has 8 nodes once unused ones are pruned, and at most 7 are allowed"),
        (
            spelt("01 02 03 04 05 16 26 36 46 56", *[C3] * 5),
            "it has 10 edges once unused ones are pruned, and 1..9 are allowed",
        ),
        (spelt("01", C3), "no path leads from its input to its output"),
        (spelt("01 12", "conv5x5"), f"node 1 has the unknown operation `conv5x5`; known are {C3}, {C1}, {MP}"),
        (spelt("01 12 21 13 23", C3, C3), "edges must go forward, and one goes from node 2 to node 1"),
        (spelt("01 11 12", C3), "edges must go forward, and one goes from node 1 to node 1"),
        (spelt("01 12", C3, nodes=4), "`matrix` must have 3 rows and columns, one for each of `ops`"),
        ({"matrix": [[0, 2], [0, 0]], "ops": ["input", "output"]}, "`matrix` must hold nothing but 0 and 1"),
        ({"matrix": [[0, 1], [0, 0]], "ops": ["output", "input"]}, "`ops` must begin with `input` and end with `output`"),
        ({"matrix": [], "ops": []}, "`ops` must begin with `input` and end with `output`"),
        ({"matrix": 3, "ops": []}, "'int' object is not iterable"),
        ({"ops": []}, "it has no `matrix`"),
    ],
)
def test_a_graph_outside_is_refused_with_its_rule(choices: dict[str, Any], rule: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{re.escape(f'the cell is not one of `nasbench101`: {rule}.')}$"):
        SPACE.make(choices)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"nodes": "1..3"}, "must be at least 2, got 1..3"),
        ({"nodes": "2..8"}, "must lie in 0..7"),
        ({"edges": "1..9:2"}, "without steps"),
        ({"nodes": "2", "edges": "2..9"}, "no cell has 2..2 nodes and 2..9 edges"),
    ],
)
def test_bounds_that_make_no_space(limits: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(why)):
        NasBench101(**limits)


def test_draws_are_uniform_over_the_cells() -> None:
    drawn = Counter(a.key for a in SMALL.sample_many(91 * 60, generator(0)))
    assert SMALL.size() == len(drawn) == 91
    assert chisquare(list(drawn.values())).pvalue > 0.001


def by_hand(a: Architecture, b: Architecture, nodes: int) -> int:
    """The edit distance with lists and loops."""
    padded = []
    for one in (a, b):
        matrix, ops = one["matrix"], one["ops"]
        place = [*range(len(ops) - 1), nodes - 1]
        edges = {(place[x], place[y]) for x, row in enumerate(matrix) for y, there in enumerate(row) if there}
        padded.append((edges, dict(enumerate(ops[1:-1], 1))))
    (ours, left), (theirs, right) = padded
    costs = []
    for order in itertools.permutations(range(1, nodes - 1)):
        to = {0: 0, nodes - 1: nodes - 1, **{node: at for at, node in enumerate(order, 1)}}
        labels = {to[node]: op for node, op in right.items()}
        other = sum(labels[node] != left[node] for node in labels.keys() & left.keys())
        costs.append(len(ours ^ {(to[x], to[y]) for x, y in theirs}) + other)
    return min(costs)


def test_edit_distance_and_neighbours_agree() -> None:
    """Among cells of as many nodes, neighbours are those that differ in one edge or operation."""
    every = list(SMALL.every())
    for a in every[::5]:
        near = {b.key for b in SMALL.neighbours(a)}
        for b in every:
            apart = SMALL.distance(a, b)
            assert apart == by_hand(a, b, 4)
            assert (apart == 0) == (a == b)
            if apart == 1:
                assert b.key in near
        assert {b.key for b in every if b.key in near and len(b["ops"]) == len(a["ops"])} <= {
            b.key for b in every if SMALL.distance(a, b) == 1
        }


def test_a_node_can_be_added_to_any_smaller_cell() -> None:
    line = SPACE.make(spelt("01 12", C3))
    beside, between = SPACE.make(spelt("01 02 13 23", C3, MP)), SPACE.make(spelt("01 12 23", C3, MP))
    assert {beside, between} <= set(SPACE.neighbours(line))
    assert line in set(SPACE.neighbours(beside)) & set(SPACE.neighbours(between))


def test_widths_are_shared_out() -> None:
    # 1, 2 and 3 are joined: 128 = 43 + 43 + 42; 4 → none. Node 1 also feeds 3.
    three = SPACE.cell(SPACE.make(spelt("01 02 03 14 24 34", C3, C1, MP)))
    assert sorted(widths(three, 128)[1:4]) == [42, 43, 43]
    chain = SPACE.cell(SPACE.make(spelt("01 12 23", C3, C1)))
    assert widths(chain, 128) == [0, 128, 128, 128]


def test_parameters_by_hand() -> None:
    """The smallest cell is a projection: input × output channels and two for each of the output's normalisation."""
    projections = [(128, 128)] * 3 + [(128, 256)] + [(256, 256)] * 2 + [(256, 512)] + [(512, 512)] * 2
    expected = 3 * 3 * 3 * 128 + 2 * 128 + sum(i * o + 2 * o for i, o in projections) + 512 * 10 + 10
    assert SPACE.parameters(SPACE.smallest()) == expected


def test_the_space_outside() -> None:
    outside, training = CateOutside(), CateOutside.training()
    inner = NasBench101(nodes="6", edges="7..9")
    assert outside.size() == inner.size()
    keys = {a.key for a in outside.sample_many(200, generator(0))}
    assert all(SPACE.make(dict(a.choices)).key == a.key for a in outside.sample_many(20, generator(0)))
    disjoint = CateOutside(edges="8..9")
    assert disjoint.size() + NasBench101(nodes="6", edges="1..7").size() == NasBench101(nodes="6").size()
    assert training.size() + NasBench101(nodes="2..6", edges="8..9").size() == NasBench101(nodes="2..6").size()
    assert len(keys) > 190


def test_numbers_count_through_the_space() -> None:
    assert [SMALL.numbered(i) for i in range(SMALL.size())] == list(SMALL.cells())
    assert SPACE.numbered(SPACE.size() - 1).nodes == 7
    assert Cell(2, 1, ()) == SPACE.numbered(0)


def test_keys_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(enumeration, "WORTH_KEEPING", 50)
    fresh = list(SMALL.every())
    (file,) = (tmp_path / "secateur").iterdir()
    before = file.stat().st_mtime_ns
    assert file.name == "nasbench101-nodes-2-4-edges-1-9.npy"
    with monkeypatch.context() as patch:
        unused = SimpleNamespace(__wrapped__=lambda cell: pytest.fail(f"the hash of {cell} was computed again"))
        patch.setattr("secateur.spaces.cells.nasbench101.official_hash", unused)
        assert list(SMALL.every()) == fresh
    assert file.stat().st_mtime_ns == before
    file.write_bytes(b"damaged")
    assert list(SMALL.every()) == fresh
    np.save(file, np.zeros((3, 16), dtype=np.uint8))
    assert list(SMALL.every()) == fresh


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secateur").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(enumeration, "WORTH_KEEPING", 50)
    assert len(list(SMALL.every())) == 91


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert enumeration.cache_folder() == Path.home() / ".cache" / "secateur"
