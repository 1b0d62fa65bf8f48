"""Every encoding of every kind of space."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.encodings import Encoding, UnitCube
from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.decoder import Decoder
from secateur.testing.toys import SPACES, toy

MIDDLE = Decoder(layers="1..4", width="32..96:32", inner="64..256:64", heads=(2, 4), embedding=(0, 32, 64), factor=(1, 2))
ALL = {**{name: toy(name).space for name in SPACES}, "decoder": MIDDLE}


@pytest.fixture(params=ALL.values(), ids=ALL)
def space(request: pytest.FixtureRequest) -> Space:
    return request.param


@pytest.fixture
def encoding(space: Space) -> Encoding:
    return UnitCube(space)


def test_a_row_each_in_order(space: Space, encoding: Encoding) -> None:
    some = space.sample_many(20, generator(0))
    found = encoding.encode(some)
    assert found.shape == (20, encoding.dimensions)
    assert found.dtype == np.float64
    assert np.array_equal(found[::-1], encoding.encode(some[::-1]))
    assert np.array_equal(found, np.concatenate([encoding.encode([a]) for a in some]))
    assert encoding.encode([]).shape == (0, encoding.dimensions)


def test_the_unit_cube_is_the_spaces_own(space: Space, encoding: Encoding) -> None:
    some = space.sample_many(20, generator(1))
    assert np.array_equal(encoding.encode(some), space.encode_many(some))
    assert encoding.dimensions == space.dimensions
    assert encoding.encode(some).min() >= 0
    assert encoding.encode(some).max() <= 1
