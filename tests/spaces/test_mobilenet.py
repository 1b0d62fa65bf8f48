from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from secateur.errors import ConfigurationError
from secateur.images import build
from secateur.objectives import Objective
from secateur.rng import generator
from secateur.search import LocalSearch, Nsga2
from secateur.spaces.decoder import Decoder
from secateur.spaces.mobilenet import Mobilenet, architecture, expansions_of
from secateur.spaces.mobilenet_sizes import ImageSizes, macs, parameters
from secateur.testing.spaces import SpaceContract


@pytest.fixture(
    params=[
        Mobilenet(stages=2, layers="1..2", expansion=(2, 4, 6)),
        Mobilenet(stages=1, layers="2..4", expansion=(3, 5)),
        Mobilenet(stages=3, layers=1, expansion="2..4"),
        Mobilenet(stages=1, layers=2, expansion=6),
    ],
    ids=["two stages", "two layers at least", "one layer", "one network"],
)
def space(request):
    return request.param


class TestContract(SpaceContract):
    pass


def test_the_paper_counts_so_many():
    assert Mobilenet().size() == (5**1 + 5**2 + 5**3 + 5**4) ** 5


def test_neighbours_change_one_layer_or_the_depth_by_one():
    space = Mobilenet(stages=2, layers="1..3", expansion=(2, 4))
    found = {expansions_of(a) for a in space.neighbours(architecture([[2], [2, 4]]))}
    expected = {((4,), (2, 4)), ((2, 2), (2, 4)), ((2, 4), (2, 4))}
    expected |= {((2,), stage) for stage in ((4, 4), (2, 2), (2,), (2, 4, 2), (2, 4, 4))}
    assert found == expected


def test_a_child_has_the_depth_of_a_parent_and_layers_of_parents_that_have_them():
    space = Mobilenet()
    rng = generator(0)
    for a, b in zip(space.sample_many(40, rng), space.sample_many(40, rng), strict=True):
        child = expansions_of(space.crossover(a, b, rng))
        for x, y, z in zip(expansions_of(a), expansions_of(b), child, strict=True):
            assert len(z) in (len(x), len(y))
            for place, expansion in enumerate(z):
                assert expansion in {s[place] for s in (x, y) if place < len(s)}


def test_draws_have_every_depth_alike():
    space = Mobilenet()
    depths = np.array([[len(s) for s in expansions_of(a)] for a in space.sample_many(2000, generator(0))])
    assert all(abs((depths == d).mean() - 0.25) < 0.02 for d in (1, 2, 3, 4))


def test_positions_are_repaired():
    space = Mobilenet(stages=1, layers="1..3", expansion=(2, 4))
    assert expansions_of(space.from_indices(np.array([1, 0, 2]))) == ((4,),)
    for a in space.every():
        assert space.from_indices(space.indices(a)) == a
        assert space.active(a).sum() == len(expansions_of(a)[0])


@pytest.mark.parametrize("searcher", [LocalSearch, Nsga2])
def test_searchers_move_in_it(searcher):
    space = Mobilenet()
    objectives = [Objective("parameters"), Objective("block_zoo", "max")]
    found = searcher(space, objectives, seed=0).ask(5)
    assert all(space.contains(trial.architecture) for trial in found)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"expansions": [[2]]}, "it has 1 stages, the space has 2"),
        ({"expansions": [[2], []]}, "a stage of 0 layers, the space 1..2"),
        ({"expansions": [[2], [3]]}, r"must be of \[2, 4\], got \[3\]"),
        ({"expansions": 3}, "not iterable"),
        ({}, "expansions"),
    ],
)
def test_choices_outside_get_one_line(choices, said):
    with pytest.raises(ConfigurationError, match=said) as found:
        Mobilenet(stages=2, layers="1..2", expansion=(2, 4)).make(choices)
    assert "\n" not in str(found.value)


def test_bounds_that_are_none_get_one_line():
    with pytest.raises(ConfigurationError, match="`stages` must be a whole number from 1 to 100, got 0"):
        Mobilenet(stages=0)
    with pytest.raises(ConfigurationError, match="`layers` must be a range without gaps"):
        Mobilenet(layers=(1, 3))
    with pytest.raises(ConfigurationError, match="`space` must be `mobilenet`"):
        expansions_of(Decoder().smallest())


SIZES = [
    ImageSizes.scaled((1, 8, 8), 10, 0.2),
    ImageSizes.scaled((3, 9, 7), 4, 0.1, strides=(2, 2, 1, 1, 2), stem_stride=2, squeeze=(True,) * 5),
    ImageSizes(image=(3, 16, 16), classes=3, widths=(4, 8, 8, 12, 12), strides=(1, 2, 1, 1, 1), stem=6, head=20),
]


@pytest.mark.parametrize("sizes", SIZES, ids=["default", "odd", "own"])
def test_counts_are_those_of_the_built_network(sizes):
    space = Mobilenet()
    for a in [space.smallest(), *space.sample_many(2, generator(3))]:
        network = build(a, sizes)
        assert parameters(a, sizes) == sum(p.numel() for p in network.parameters() if p.requires_grad)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            assert network(torch.zeros(2, *sizes.image)).shape == (2, sizes.classes)
        assert counter.get_total_flops() == 2 * macs(a, sizes, batch=2)


def test_a_layer_by_hand():
    """One stage of one layer: 3 channels in, 2 × 3 inside, 5 out, on 4 × 4 pixels, with a squeeze to 6 // 4 = 1 channel."""
    sizes = ImageSizes(image=(1, 4, 4), classes=2, widths=(5,), strides=(2,), stem=3, head=7, squeeze=(True,), swish=(False,))
    a = architecture([[2]])
    stem, head = 1 * 3 * 9 + 6, 5 * 7 + 14 + 7 * 2 + 2
    layer = 3 * 6 + 12 + 6 * 9 + 12 + (6 * 1 + 1 + 1 * 6 + 6) + 6 * 5 + 10
    assert parameters(a, sizes) == stem + layer + head
    stem, head = 27 * 16, 5 * 7 * 4 + 14
    assert macs(a, sizes) == stem + 3 * 6 * 16 + 6 * 9 * 4 + 12 + 6 * 5 * 4 + head


def test_sizes_that_cannot_be_get_one_line():
    with pytest.raises(ConfigurationError, match="`strides` must have one value for each of the 2 `widths`, got 5"):
        ImageSizes(image=(1, 8, 8), classes=2, widths=(4, 8), squeeze=(True, True), swish=(True, True))
    with pytest.raises(ConfigurationError, match="`image` must be channels, height and width"):
        ImageSizes(image=(8, 8), classes=2)
    with pytest.raises(ConfigurationError, match="`classes` must be at least 2"):
        ImageSizes(image=(1, 8, 8), classes=1)
    with pytest.raises(ConfigurationError, match="`factor` must be above 0"):
        ImageSizes.scaled((1, 8, 8), 2, 0.0)
    with pytest.raises(ConfigurationError, match="`widths` are of 5 stages, but the architecture has 1"):
        parameters(architecture([[2]]), SIZES[0])
