"""Cells up to isomorphism, against brute force on small ones."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest

from secateur.spaces.cells.official_hash import official_hash
from secateur.spaces.cells.structures import LABELS, Cell, bit, cell, labellings, structures, targets

Spelling = tuple[int, tuple[tuple[int, int], ...], tuple[int, ...]]


def spellings(nodes: int) -> list[Spelling]:
    """Every labelled graph of so many nodes in which every node lies on a path from the first to the last, by matrix powers."""
    places = list(itertools.combinations(range(nodes), 2))
    found = []
    for there in itertools.product((0, 1), repeat=len(places)):
        matrix = np.zeros((nodes, nodes), dtype=int)
        for (x, y), one in zip(places, there, strict=True):
            matrix[x, y] = one
        paths = sum(np.linalg.matrix_power(matrix, k) for k in range(nodes))
        if (paths[0] > 0).all() and (paths[:, -1] > 0).all():
            edges = tuple(place for place, one in zip(places, there, strict=True) if one)
            found += [(nodes, edges, labels) for labels in itertools.product(range(LABELS), repeat=nodes - 2)]
    return found


def by_permutation(spelling: Spelling) -> Spelling:
    """The least of all spellings of a cell, edges compared as lists, by trying every permutation of the inner nodes."""
    nodes, edges, labels = spelling
    every = []
    for order in itertools.permutations(range(1, nodes - 1)):
        place = {0: 0, nodes - 1: nodes - 1, **{node: at for at, node in enumerate(order, 1)}}
        turned = tuple(sorted((place[x], place[y]) for x, y in edges))
        every.append((nodes, turned, tuple(labels[node - 1] for node in order)))
    return min(every)


def as_cell(spelling: Spelling) -> Cell:
    nodes, edges, labels = spelling
    found = cell([sum(1 << y for x, y in edges if x == node) for node in range(nodes)], labels)
    assert found is not None
    return found


def plain_hash(spelling: Spelling) -> str:
    """The hash as Ying et al. describe it, on lists."""
    nodes, edges, inner = spelling
    md5 = lambda text: hashlib.md5(text.encode()).hexdigest()  # noqa: E731
    labels = [-1, *inner, -2]
    into = [[x for x, y in edges if y == v] for v in range(nodes)]
    out = [[y for x, y in edges if x == v] for v in range(nodes)]
    now = [md5(str((len(out[v]), len(into[v]), labels[v]))) for v in range(nodes)]
    for _ in range(nodes):
        sides = [("".join(sorted(now[w] for w in into[v])), "".join(sorted(now[w] for w in out[v]))) for v in range(nodes)]
        now = [md5(f"{before}|{after}|{now[v]}") for v, (before, after) in enumerate(sides)]
    return md5(str(sorted(now)))


@pytest.mark.parametrize(("nodes", "count"), [(2, 1), (3, 6), (4, 84), (5, 2441)])
def test_cells_are_the_graphs_up_to_isomorphism(nodes: int, count: int) -> None:
    """The counts are the benchmark's own. Cells and hashes are equal where a permutation turns one into the other."""
    by_cell: dict[Cell, set[Spelling]] = {}
    by_hash: dict[str, set[Spelling]] = {}
    for spelling in (s for s in spellings(nodes) if len(s[1]) <= 9):
        least = by_permutation(spelling)
        by_cell.setdefault(as_cell(spelling), set()).add(least)
        by_hash.setdefault(official_hash(as_cell(spelling)), set()).add(least)
    assert len(by_cell) == len(by_hash) == count
    assert all(len(found) == 1 for found in (*by_cell.values(), *by_hash.values()))
    bits, number = structures(nodes, 1, 9)
    listed = [Cell(nodes, b, labels) for b in bits.tolist() for labels in labellings(nodes, b)]
    assert listed == sorted(by_cell)
    assert number.tolist() == [len(labellings(nodes, b)) for b in bits.tolist()]


def test_the_hash_is_the_described_one() -> None:
    for spelling in spellings(4)[::7]:
        assert official_hash(as_cell(spelling)) == plain_hash(spelling)


def test_a_cell_is_spelt_as_the_first_in_the_benchmarks_order() -> None:
    first: dict[Spelling, tuple[int, tuple[int, ...]]] = {}
    for spelling in spellings(4):
        bits = sum(1 << bit(x, y) for x, y in spelling[1])
        least = by_permutation(spelling)
        first[least] = min(first.get(least, (bits, spelling[2])), (bits, spelling[2]))
    assert {(c.bits, c.labels) for c in map(as_cell, spellings(4))} == set(first.values())


def test_unused_nodes_are_pruned() -> None:
    # 0 → 1 → 4; 2 leads nowhere, 3 comes from nowhere.
    found = cell([0b00110, 0b10000, 0, 0b10000, 0], (2, 0, 1))
    assert found == Cell(3, 0b100 | 1, (2,)) == Cell(3, (1 << bit(0, 1)) | (1 << bit(1, 2)), (2,))
    assert cell([0b010, 0, 0], (0,)) is None
    assert targets(3, found.bits) == (0b010, 0b100, 0)


def test_all_of_the_benchmark_are_counted() -> None:
    found = [int(structures(nodes, 1, 9)[1].sum()) for nodes in range(2, 8)]
    assert found == [1, 6, 84, 2441, 62010, 359082]
    assert sum(found) == 423_624
