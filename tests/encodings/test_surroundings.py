from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from secateur.encodings import Adjacency, Encoding, Path, PathContinuous, UnitCube
from secateur.encodings.named import encoding_of, standardised
from secateur.encodings.surroundings import Explored, Listed, surroundings
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.cells import Darts, NasBench101, NasBench201
from secateur.spaces.pruning import Large, Shape
from secateur.testing.toys import toy

SMALL = NasBench101(nodes="2..5")
EVERY = list(SMALL.every())
ENCODINGS = [Adjacency(SMALL), Path(SMALL), PathContinuous(SMALL), UnitCube(SMALL)]


def by_hand(encoding: Encoding, point: np.ndarray) -> dict[str, float]:
    """The squared distance of every cell from a point."""
    return dict(zip([a.key for a in EVERY], ((encoding.encode(EVERY) - point) ** 2).sum(axis=1).tolist(), strict=True))


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda e: e.name)
def test_the_nearest_come_first(encoding: Encoding) -> None:
    near = Listed(SMALL, encoding)
    rng = generator(0)
    for _ in range(5):
        point = near.drawn(rng)
        expected = by_hand(encoding, point)
        listed = [a.key for a in near.nearest(point, rng)]
        assert sorted(listed) == sorted(expected)
        assert [expected[key] for key in listed] == pytest.approx(sorted(expected.values()), abs=1e-4)


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda e: e.name)
def test_steps_lead_to_the_nearest_other_vectors(encoding: Encoding) -> None:
    near = Listed(SMALL, encoding)
    rng = generator(1)
    for cell in SMALL.sample_many(5, rng):
        expected = by_hand(encoding, encoding.encode([cell])[0])
        others = {key: distance for key, distance in expected.items() if distance > 1e-9}
        vectors = np.unique(np.round(encoding.encode(EVERY), 6), axis=0)
        ascending = np.sort(((vectors - np.round(encoding.encode([cell])[0], 6)) ** 2).sum(axis=1))
        allowed = {key for key, distance in others.items() if distance <= ascending[7] + 1e-4}  # its own is the first
        within = [a.key for a in near.within(cell, 7)]
        assert set(within) == allowed
        assert len(within) == len(allowed)
        assert [others[key] for key in within] == pytest.approx(sorted(others[key] for key in within), abs=1e-4)
        assert {near.step(cell, 7, rng).key for _ in range(30)} <= allowed
        around = [a.key for a in near.around(cell, rng)]
        assert sorted(around) == sorted(others)
        assert [others[key] for key in around] == pytest.approx(sorted(others.values()), abs=1e-4)


def test_ties_are_broken_at_random() -> None:
    """In NAS-Bench-201, one edit changes two bits: 24 cells are 2 away, 240 are 4 away."""
    space = NasBench201(merged=False)
    near = surroundings(space, encoding_of(space, "adjacency"))
    cell, rng = space.largest(), generator(2)
    edits = {a.key for a in space.neighbours(cell)}
    assert {a.key for a in islice(near.within(cell, 24), 24)} == edits
    assert len(list(near.within(cell, 24))) == 24
    assert len(list(near.within(cell, 30))) == 264
    ends = Counter(near.step(cell, 30, rng).key for _ in range(9000))
    assert sum(ends[key] for key in edits) == pytest.approx(9000 * 24 / 30, rel=0.05)
    assert min(ends[key] for key in edits) > 200
    assert len(ends) == 264
    assert len({next(near.around(cell, rng)).key for _ in range(300)}) == 24


def test_equal_vectors_are_at_one_place() -> None:
    """Cells without any path have the same vector: a step from one leads elsewhere, whatever their number."""
    space = NasBench201(merged=False)
    encoding = encoding_of(space, "path")
    near = surroundings(space, encoding)
    empty = space.smallest()
    assert not encoding.encode([empty]).any()
    rng = generator(3)
    assert encoding.encode([near.step(empty, 5, rng) for _ in range(40)]).any(axis=1).all()


def test_a_space_of_one_place() -> None:
    class Nothing(UnitCube):
        def encode(self, architectures):  # type: ignore[no-untyped-def]
            return np.zeros((len(architectures), 2))

    space = toy("sublayer").space
    near = Listed(space, Nothing(space))
    largest = space.largest()
    assert near.step(largest, 3, generator(0)) == largest
    assert list(near.within(largest, 3)) == list(near.around(largest, generator(0))) == []
    assert len(list(near.nearest(np.zeros(2), generator(0)))) == len(list(space.every()))


@pytest.mark.parametrize("space", [Darts(), Large(Shape(4, 6, 100))], ids=["darts", "large"])
def test_of_a_large_space_draws_and_mutations_are_looked_at(space: Space) -> None:
    encoding = UnitCube(space)
    near = surroundings(space, encoding)
    assert isinstance(near, Explored)
    assert surroundings(space, encoding) is near
    rng = generator(4)
    start = space.sample(rng)
    point = encoding.encode([start])[0]

    def distance(architecture):  # type: ignore[no-untyped-def]
        return ((encoding.encode([architecture])[0] - point) ** 2).sum()

    found = [distance(a) for a in near.nearest(point, rng)]
    assert found == pytest.approx(sorted(found), abs=1e-3)
    assert found[0] < min(distance(a) for a in space.sample_many(200, rng)), "mutations bring it nearer than draws"
    around = list(near.around(start, rng))
    assert [distance(a) for a in around] == pytest.approx(sorted(distance(a) for a in around), abs=1e-3)
    assert all(space.contains(a) and a.key != start.key for a in around)
    step = near.step(start, 5, generator(5))
    assert step == near.step(start, 5, generator(5))
    assert distance(step) <= np.median([distance(a) for a in around])
    listed = list(near.within(start, 5))
    assert len(listed) == 5
    assert {a.key for a in listed} <= {a.key for a in space.neighbours(start)}
    low, high = near.drawn(rng).min(), near.drawn(rng).max()
    assert 0 <= low <= high <= 1


def test_standardised_vectors() -> None:
    encoding = standardised(SMALL, encoding_of(SMALL, "adjacency"))
    vectors = encoding.encode(SMALL.sample_many(3000, generator(6)))
    assert encoding.dimensions == vectors.shape[1] == Adjacency(SMALL).dimensions
    assert encoding.name == "adjacency"
    assert vectors.mean(axis=0) == pytest.approx(np.zeros(vectors.shape[1]), abs=0.1)
    assert vectors.std(axis=0)[0] == 0, "every cell has the first edge"
    assert vectors.std(axis=0)[1:] == pytest.approx(np.ones(vectors.shape[1] - 1), abs=0.2)
    assert encoding.encode([]).shape == (0, encoding.dimensions)
