"""What the six strategies draw."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.catalogue import find, names
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.pruning import Plan, Shape, Small
from secateur.testing.toys import SPACES

SHAPE = Shape(layers=6, heads=8, units=64)
SMALL = Small(SHAPE)
WHOLE, SMALLEST, RANDOM = "whole", "smallest", "random"

#: What a step is made of, pass by pass: (which network, distilled), for k = 3.
EXPECTED = {
    "standard": [(WHOLE, False)],
    "random": [(RANDOM, False)],
    "sandwich": [(WHOLE, False), (SMALLEST, False), *[(RANDOM, False)] * 3],
    "kd": [(WHOLE, False), *[(RANDOM, True)] * 3],
    "full": [(WHOLE, False), (SMALLEST, True), *[(RANDOM, True)] * 3],
}


def describe(draws, space):
    """Each draw as (which network, distilled)."""
    out = []
    for draw in draws:
        if draw.plan is None:
            out.append((WHOLE, draw.distilled))
        else:
            out.append((SMALLEST if draw.plan == space.plan(space.smallest()) else RANDOM, draw.distilled))
    return out


def test_all_six_are_there_and_in_the_catalogue():
    assert set(names("strategy")) == {*EXPECTED, "random-linear", "kd-linear"}
    assert all(find("strategy", name).name == name for name in names("strategy"))


@pytest.mark.parametrize("name", EXPECTED)
def test_passes_in_order(name):
    space = Small(SHAPE, heads="1..8", units="1..64", layers="1..6")
    draws = find("strategy", name)(space, k=3).draws(0, 10, generator(0, "test"))
    assert describe(draws, space) == EXPECTED[name]
    for draw in draws:
        if draw.plan is not None:
            draw.plan.check(SHAPE)


@pytest.mark.parametrize("space", SPACES)
def test_the_smallest_keeps_no_layer_and_the_largest_is_the_network_itself(space):
    """Klein et al., section 3.2.1: the lower bound is embeddings and head alone."""
    first, second = find("strategy", "sandwich")(SPACES[space](SHAPE), k=0).draws(0, 1, generator(0))
    assert first.plan is None
    assert second.plan == Plan.of([])


def test_the_smallest_of_a_bounded_space_keeps_the_bounds():
    space = Small(SHAPE, heads="2..8", units="16..64", layers="3..6")
    assert find("strategy", "full")(space).draws(0, 1, generator(0))[1].plan == Plan.uniform(3, 2, 16)


@pytest.mark.parametrize(("k", "passes"), [(0, 2), (1, 3), (5, 7)])
def test_k_is_the_number_of_random_ones(k, passes):
    assert len(find("strategy", "full")(SMALL, k=k).draws(0, 10, generator(0))) == passes


def test_negative_k_is_refused():
    with pytest.raises(ConfigurationError, match=r"`k`.*must not be negative, got -1"):
        find("strategy", "full")(SMALL, k=-1)


@pytest.mark.parametrize("name", names("strategy"))
def test_equal_generators_give_equal_draws_and_steps_differ(name):
    strategy = find("strategy", name)(SMALL)

    def drawn(seed):
        return [strategy.draws(step, 40, generator(seed, "train", step)) for step in range(40)]

    assert drawn(0) == drawn(0)
    if name != "standard":
        assert drawn(0) != drawn(1)
        plans = {draw.plan for draws in drawn(0) for draw in draws}
        assert len(plans) > 5


def test_random_ones_follow_the_space():
    """Uniform over `small`: mean of 4 heads, 32 units, 3 layers; each draw of a step is its own."""
    strategy = find("strategy", "kd")(SMALL, k=2)
    draws = [strategy.draws(0, 1, generator(0, "train", step))[1:] for step in range(1500)]
    depths = np.array([[len(d.plan.layers) for d in pair] for pair in draws])
    # no heads and no units (1 in 585) leave no layer; nearly uniform 0…6 then
    assert np.abs(np.bincount(depths.ravel(), minlength=7) / depths.size - 1 / 7).max() < 0.03
    assert abs(np.corrcoef(depths.T)[0, 1]) < 0.08


@pytest.mark.parametrize(("name", "smaller"), [("random-linear", [False]), ("kd-linear", [False, True, True])])
def test_the_linear_ones_rise_with_the_steps(name, smaller):
    """Probability step / steps: binomial, within four standard deviations of it at every tenth of the run."""
    strategy, repeats, steps = find("strategy", name)(SMALL, k=2), 1000, 10
    for step in range(steps):
        drawn = [strategy.draws(step, steps, generator(0, step, repeat)) for repeat in range(repeats)]
        assert all([d.distilled for d in draws] in ([False], smaller) for draws in drawn)
        share = np.mean([draws[-1].plan is not None for draws in drawn])
        p = step / steps
        assert abs(share - p) <= 4 * np.sqrt(p * (1 - p) / repeats), step
