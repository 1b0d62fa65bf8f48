"""Every space, with and without bounds, under one contract."""

from __future__ import annotations

import pytest

from secateur.spaces.pruning import Large, Layer, Medium, PruningSpace, Shape, Small, Sublayer
from secateur.testing.spaces import PruningSpaceContract
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
