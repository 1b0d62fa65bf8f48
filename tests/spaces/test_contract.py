"""Every space, with and without bounds, under one contract."""

from __future__ import annotations

import pytest

from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.pool import Pool
from secateur.spaces.pruning import Large, Layer, Medium, PruningSpace, Shape, Small, Sublayer
from secateur.testing.spaces import PruningSpaceContract, SpaceContract
from secateur.testing.toys import SHAPE

SPACES = {
    "small": Small(SHAPE),
    "small, bounded": Small(Shape(4, 6, 16), heads="2..6:2", units="4..:4", layers="1.."),
    "small, one depth": Small(SHAPE, layers="2"),
    "small, one point": Small(SHAPE, heads="1", units="2", layers="2"),
    "medium": Medium(SHAPE),
    "medium, bounded": Medium(Shape(2, 4, 8), heads="..4:2", units="4..8:4"),
    "layer": Layer(Shape(5, 2, 3)),
    "sublayer": Sublayer(Shape(3, 2, 3)),
    "large": Large(SHAPE),
}


@pytest.fixture(params=SPACES.values(), ids=SPACES)
def space(request: pytest.FixtureRequest) -> PruningSpace:
    return request.param


class TestContract(PruningSpaceContract):
    pass


#: Lists of some of a space's members.
POOLS = {
    "some of medium": Pool(SPACES["medium"], SPACES["medium"].sample_many(40, generator(0))),
    "one of small": Pool(SPACES["small"], [SPACES["small"].largest()]),
}


class TestPools(SpaceContract):
    @pytest.fixture(params=POOLS.values(), ids=POOLS)
    def space(self, request: pytest.FixtureRequest) -> Pool:
        return request.param


def test_a_step_in_a_pool_is_mostly_a_short_one() -> None:
    """The r-th nearest member to the space's own step is drawn with 1/r: the nearest of all most often."""
    line = Small(Shape(1, 1, 100), heads="1", layers="1")
    at = {units: line.make({"heads": 1, "units": units, "layers": 1}) for units in (0, 10, 20, 100)}
    pool, rng = Pool(line, list(at.values())), generator(0)
    found = [pool.mutate(at[0], rng) for _ in range(3000)]
    # The space's step goes to 1…100 with equal chances; of 10, 20 and 100 they come first, second and third by distance.
    expected = dict.fromkeys((10, 20, 100), 0.0)
    for target in range(1, 101):
        order = sorted((10, 20, 100), key=lambda units: abs(units - target))
        for place, units in enumerate(order, 1):
            expected[units] += 1 / place / (1 + 1 / 2 + 1 / 3) / 100
    shares = {units: found.count(at[units]) / len(found) for units in expected}
    assert shares == pytest.approx(expected, abs=0.03)


def test_what_a_pool_does_not_hold() -> None:
    line = Small(Shape(1, 1, 9), heads="1", layers="1")
    pool = Pool(line, [line.smallest()])
    with pytest.raises(ConfigurationError, match="is not in the list"):
        pool.make({"heads": 1, "units": 5, "layers": 1})
    with pytest.raises(ConfigurationError, match="at least one"):
        Pool(line, [])
