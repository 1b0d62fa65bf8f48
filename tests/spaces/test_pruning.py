"""What is particular to the pruning spaces: keys across spaces, how bits are drawn, and `large` at full size."""

from __future__ import annotations

import json

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.pruning import Large, Layer, Medium, Plan, Shape, Small, Sublayer

SHAPE = Shape(layers=3, heads=2, units=4)
BERT = Shape(layers=12, heads=12, units=3072)


def test_the_whole_network_has_one_key() -> None:
    keys = {kind(SHAPE).largest().key for kind in (Small, Medium, Layer, Sublayer, Large)}
    assert keys == {Plan.whole(SHAPE).key}


def test_nothing_left_has_one_key() -> None:
    small = Small(SHAPE)
    nothing = [small.make({"heads": 0, "units": 0, "layers": n}) for n in range(4)]
    nothing += [small.make({"heads": h, "units": u, "layers": 0}) for h in range(3) for u in range(5)]
    nothing += [kind(SHAPE).smallest() for kind in (Medium, Layer, Sublayer, Large)]
    assert {a.key for a in nothing} == {Plan(()).key}


def test_no_heads_and_no_units_are_different_networks() -> None:
    small = Small(SHAPE)
    assert len({small.make({"heads": h, "units": u, "layers": 2}).key for h in (0, 2) for u in (0, 4)}) == 4


def test_the_same_sub_network_has_one_key_whatever_the_space() -> None:
    small = Small(SHAPE).make({"heads": 1, "units": 3, "layers": 2})
    medium = Medium(SHAPE).make({"heads": [1, 1, 0], "units": [3, 3, 0]})
    bits = np.array([1, 0, 1, 1, 1, 0] * 2 + [0] * 6)
    assert small.key == medium.key == Large(SHAPE).from_values(bits).key
    second_only = Layer(SHAPE).make({"layers": [0, 1, 0]})
    assert second_only.key == Sublayer(SHAPE).make({"attention": [0, 1, 0], "feed_forward": [0, 1, 0]}).key
    assert second_only.key != Layer(SHAPE).make({"layers": [1, 0, 0]}).key


@pytest.mark.parametrize(
    "space", [Layer(Shape(8, 2, 3)), Sublayer(Shape(4, 2, 3)), Large(Shape(1, 3, 5))], ids=lambda s: s.name
)
def test_how_many_bits_is_uniform_and_which_ones_too(space: Layer | Sublayer | Large) -> None:
    draws = space.sample_values(9000, generator(0))
    kept = np.bincount(draws.sum(axis=1), minlength=9)
    assert ((kept - 1000) ** 2 / 1000).sum() < 26.1  # chi-square, 8 degrees of freedom: exceeded once in a thousand
    assert np.all(np.abs(draws.mean(axis=0) - 0.5) < 0.025)


def test_numbers_are_drawn_uniformly() -> None:
    draws = Small(Shape(9, 9, 9), heads="1..9:2").sample_values(5000, generator(0))
    heads = np.bincount(draws[:, 0], minlength=10)
    assert np.all(heads[::2] == 0)
    assert ((heads[1::2] - 1000) ** 2 / 1000).sum() < 18.5  # 4 degrees of freedom


def test_large_is_practical_at_37008_bits() -> None:
    space = Large(BERT)
    assert space.dimensions == 37_008
    rng = generator(0)
    a = space.sample(rng)
    text = a.to_json()
    assert len(text) < 7000
    assert np.sum(space.values(a) != space.values(space.mutate(a, rng))) == 1
    assert space.crossover(a, a, rng) == a == Architecture.from_json(text)
    assert space.contains(a)
    assert space.plan(a).key == a.key


def test_plans_keep_what_the_bits_say() -> None:
    bits = np.array([0, 1, 0, 1, 1, 0] + [0] * 6 + [1, 1, 0, 0, 0, 0])
    plan = Large(SHAPE).plan_of(bits)
    assert plan.as_dict() == {
        "layers": [{"index": 0, "heads": [1], "units": [1, 2]}, {"index": 2, "heads": 2, "units": 0}],
    }
    assert plan.attention_layers == 2


def test_free_depths_are_the_shallower_points_of_the_space() -> None:
    small = Small(Shape(6, 2, 4), layers="2..6:2")
    deepest = small.make({"heads": 1, "units": 3, "layers": 6})
    assert [a["layers"] for a in small.depths(deepest)] == [2, 4]
    assert all(small.contains(a) and a["heads"] == 1 and a["units"] == 3 for a in small.depths(deepest))
    assert small.depths(small.smallest()) == []


def test_bounds_hold() -> None:
    small = Small(BERT, heads="4..12:4", units=":512", layers="6..")
    assert small.size() == 3 * 7 * 7
    assert dict(small.smallest().choices) == {"heads": 4, "units": 0, "layers": 6}
    assert dict(small.largest().choices) == {"heads": 12, "units": 3072, "layers": 12}
    outside = Small(BERT).make({"heads": 5, "units": 512, "layers": 6})
    assert not small.contains(outside)
    with pytest.raises(ConfigurationError, match="is outside the bounds of the space `small`"):
        small.make(dict(outside.choices))


@pytest.mark.parametrize("kind", [Layer, Sublayer, Large])
def test_spaces_of_bits_take_no_range(kind: type[Layer | Sublayer | Large]) -> None:
    with pytest.raises(ConfigurationError, match="takes no range for `heads`, `layers`; `small` and `medium` do"):
        kind(SHAPE, heads="1..2", layers="1")


def test_medium_takes_no_range_of_layers() -> None:
    with pytest.raises(ConfigurationError, match="`medium` takes no range for `layers`"):
        Medium(SHAPE, layers="1..2")


@pytest.mark.parametrize(
    ("space", "choices"),
    [
        (Small(SHAPE), {"heads": 1}),
        (Small(SHAPE), {"heads": "many", "units": 1, "layers": 1}),
        (Medium(SHAPE), {"heads": [1, 2], "units": [1, 2, 3]}),
        (Large(SHAPE), {"bits": "not base64!"}),
        (Large(SHAPE), {"bits": "AAA="}),
        (Large(SHAPE), {"bits": 7}),
    ],
)
def test_malformed_choices_are_refused(space: Small | Medium | Large, choices: dict) -> None:
    with pytest.raises(ConfigurationError, match=f"is not an architecture of the space `{space.name}`"):
        space.make(choices)
    assert not space.contains(Architecture.of(space.name, choices, "k"))


def test_fractions_are_no_choice() -> None:
    space = Small(SHAPE)
    with pytest.raises(ConfigurationError, match="is not an architecture of the space `small`"):
        space.make({"heads": 1.5, "units": 1, "layers": 1})
    assert not space.contains(Architecture.of("small", {"heads": 1.5, "units": 1, "layers": 1}, "k"))


def test_padding_bits_do_not_make_a_second_spelling() -> None:
    space = Large(SHAPE)  # 18 bits in 3 bytes: 6 bits to spare
    whole = space.largest()
    spelled = Architecture.of("large", {"bits": "////"}, whole.key)
    assert whole["bits"] != "////"
    assert not space.contains(spelled)
    with pytest.raises(ConfigurationError, match="unused bits"):
        space.make({"bits": "////"})


def test_a_key_that_is_not_the_choices_is_no_point_of_the_space() -> None:
    a = Small(SHAPE).largest()
    forged = Architecture(a.space, a.choices, "0" * 16)
    assert json.loads(forged.to_json())["key"] == "0" * 16
    assert not Small(SHAPE).contains(forged)
