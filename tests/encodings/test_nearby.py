from __future__ import annotations

from collections import Counter

import pytest

from secateur.encodings import Adjacency, Path, UnitCube
from secateur.encodings.nearby import NEAR, Nearby
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.cells import CellSpace, NasBench101, NasBench201
from secateur.spaces.pool import Pool, whole
from secateur.testing.spaces import SpaceContract
from secateur.testing.toys import toy

CELLS = NasBench101(nodes="2..4")
LAYERS = toy("layer").space


class TestContract(SpaceContract):
    @pytest.fixture(params=[Nearby(CELLS, UnitCube(CELLS)), Nearby(LAYERS, UnitCube(LAYERS), near=2)], ids=["cells", "layers"])
    def space(self, request: pytest.FixtureRequest) -> Space:
        return request.param


def test_moves_are_those_of_the_encoding() -> None:
    space = NasBench201(merged=False)
    view = Nearby(space, Path(space))
    cell = space.largest()
    near = [a.key for a in view.surroundings.within(cell, NEAR)]
    assert [a.key for a in view.neighbours(cell)] == near
    rng = generator(0)
    assert {view.mutate(cell, rng).key for _ in range(100)} <= set(near)
    assert view.mutate(cell, generator(1), 0.5) == space.mutate(cell, generator(1), 0.5)
    assert view.crossover(cell, space.smallest(), generator(1)) == space.crossover(cell, space.smallest(), generator(1))
    assert view.start(generator(1)) == space.start(generator(1))


def test_draws() -> None:
    """Bits of a one-hot code: the nearest to random bits is a cell whose operations are among those that were drawn."""
    space = NasBench201(merged=False)
    view = Nearby(space, Adjacency(space))
    rng = generator(2)
    drawn = Counter(int(space.indices(view.sample(rng))[0]) for _ in range(2000))
    assert min(drawn.values()) > 300, "by symmetry, each of five operations has the same chance"
    own = Nearby(space, Adjacency(space), draws=False)
    assert own.sample(generator(3)) == space.sample(generator(3))
    assert own.sample_many(3, generator(3)) == [own.sample(rng) for rng in [generator(3)] for _ in range(3)]


def test_a_view_is_seen_through() -> None:
    view = Nearby(CELLS, UnitCube(CELLS))
    assert whole(view) is CELLS
    pool = Pool(CELLS, CELLS.sample_many(20, generator(4)))
    inner = Nearby(pool, Adjacency(pool))
    assert whole(inner) is CELLS
    assert isinstance(whole(inner), CellSpace)
    assert Adjacency.refuses(inner) is None
    assert {inner.mutate(a, generator(5)).key for a in pool.every()} <= {a.key for a in pool.every()}
    assert view.costs([CELLS.largest()]) == CELLS.costs([CELLS.largest()])


def test_a_step_has_an_end() -> None:
    with pytest.raises(ConfigurationError, match="`near` must be at least 1, got 0"):
        Nearby(CELLS, UnitCube(CELLS), near=0)
