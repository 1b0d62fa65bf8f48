from __future__ import annotations

import numpy as np
import pytest

from secateur.rng import generator
from secateur.spaces.base import Space
from secateur.spaces.pool import Pool, whole
from secateur.spaces.view import View
from secateur.testing.spaces import SpaceContract
from secateur.testing.toys import toy


class TestContract(SpaceContract):
    @pytest.fixture
    def space(self) -> Space:
        return View(toy("small").space)


def test_it_does_as_the_space_behind_it() -> None:
    space = toy("medium").space
    view = View(space)
    assert (view.name, view.size(), view.dimensions) == (space.name, space.size(), space.dimensions)
    assert view.smallest() == space.smallest()
    assert view.start(generator(0)) == space.start(generator(0))
    assert list(view.every()) == list(space.every())
    assert np.array_equal(view.costs([space.largest()]), space.costs([space.largest()]))  # type: ignore[arg-type]


def test_the_space_behind_views_and_pools() -> None:
    space = toy("small").space
    some = list(space.every())[:5]
    assert whole(space) is space
    assert whole(View(Pool(View(space), some))) is space
