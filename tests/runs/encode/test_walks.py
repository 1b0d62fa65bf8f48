"""Walks through an embedding and through a space, compared with brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pandas
import pytest

from secateur.rng import generator
from secateur.runs.encode.walks import (
    CLOSE,
    distance_of,
    edits_of,
    mutation_walk,
    nearest_walk,
    nearness,
    random_pairs,
    spearman,
)
from secateur.spaces.cells import NasBench101, NasBench201
from secateur.spaces.pruning import Medium, Shape

SPACE = NasBench201(merged=False)


def test_a_walk_goes_to_the_nearest_that_was_not_visited() -> None:
    vectors = generator(0).standard_normal((30, 3))
    found = nearest_walk(vectors, 7, 12)
    assert found[0] == 7
    assert len(found) == 13
    for step, (a, b) in enumerate(itertools.pairwise(found)):
        left = [i for i in range(30) if i not in found[: step + 1]]
        assert b == min(left, key=lambda i, a=a: float(((vectors[i] - vectors[a]) ** 2).sum()))  # type: ignore[misc]
    assert sorted(nearest_walk(vectors, 0, 100)) == list(range(30)), "all, where there are no more"
    assert nearest_walk(np.zeros((3, 2)), 1, 2) == [1, 0, 2], "equal ones are visited once"


def test_random_pairs_are_of_two() -> None:
    found = random_pairs(5, 20_000, generator(0))
    counts = np.zeros((5, 5))
    np.add.at(counts, tuple(found.T), 1)
    assert (counts.diagonal() == 0).all()
    assert counts[~np.eye(5, dtype=bool)] == pytest.approx(1_000, rel=0.15)


def test_a_mutation_is_a_step() -> None:
    walk = mutation_walk(SPACE, 20, generator(0))
    assert len(walk) == 21
    pairs = np.stack([np.arange(20), np.arange(1, 21)], axis=1)
    distance = distance_of(SPACE)
    assert distance is not None
    assert edits_of(distance, walk, pairs).tolist() == [1] * 20
    assert mutation_walk(SPACE, 3, generator(1))[3] == mutation_walk(SPACE, 3, generator(1))[3]


def test_edits_of_spaces() -> None:
    medium = Medium(Shape(2, 2, 4))
    distance = distance_of(medium)
    assert distance is not None
    a = medium.make({"heads": (2, 1), "units": (4, 4)})
    b = medium.make({"heads": (2, 2), "units": (3, 4)})
    assert (distance(a, b), distance(a, a)) == (2, 0)
    cells = NasBench101(nodes="2..4")
    assert distance_of(cells) == cells.distance
    assert distance_of(object()) is None  # type: ignore[arg-type]


def test_boxes_are_quantiles_of_the_pairs() -> None:
    walk = mutation_walk(SPACE, 60, generator(0))
    vectors = generator(1).standard_normal((61, 4))
    found = nearness(SPACE.distance, walk, vectors, 500, generator(2))
    assert found is not None
    pairs = [tuple(pair) for pair in random_pairs(61, 500, generator(2)).tolist()]
    close = [(a, b) for a, b in itertools.combinations(range(61), 2) if b - a <= CLOSE]
    rows = [(SPACE.distance(walk[a], walk[b]), float(np.linalg.norm(vectors[a] - vectors[b]))) for a, b in [*pairs, *close]]
    frame = pandas.DataFrame(rows, columns=["edits", "apart"])
    assert found.spearman == pytest.approx(frame[:500].corr(method="spearman")["edits"]["apart"])
    groups = frame[frame["edits"] > 0].groupby("edits")["apart"]
    assert [box.edits for box in found.boxes] == list(groups.groups)
    for box in found.boxes:
        group = groups.get_group(box.edits)
        told = [box.low, box.first, box.median, box.third, box.high]
        assert told == pytest.approx(list(group.quantile([0.05, 0.25, 0.5, 0.75, 0.95])))
        assert box.pairs == len(group)
    assert (found.steps, found.random) == (60, 500)


def test_what_says_nothing() -> None:
    assert spearman(np.zeros(5), np.arange(5)) is None
    assert spearman(np.arange(5), np.arange(5) ** 3) == pytest.approx(1)
    one = SPACE.sample(generator(0))
    assert nearness(SPACE.distance, [one] * 4, np.zeros((4, 2)), 10, generator(0)) is None
