"""The space of decoders: its contract, its exact size, repairs, arrays, and bad options."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces import decoder_counts
from secateur.spaces.decoder import LARGE, Decoder, architecture
from secateur.spaces.decoder_sizes import Sizes
from secateur.spaces.domains import Range, options
from secateur.testing.spaces import SpaceContract

SMALL = {"layers": "1..2", "width": "8..24:8", "inner": "16..48:16", "heads": (1, 2, 3), "embedding": (4, 8), "factor": (1, 2)}
SPACES = {
    "heterogeneous": Decoder(**SMALL),
    "homogeneous": Decoder(**{**SMALL, "layers": "1..4"}, homogeneous=True),
    "transformer_xl": Decoder("transformer_xl", **{**SMALL, "factor": (4,)}),
    "plain or adaptive": Decoder(**{**SMALL, "embedding": (0, 8), "factor": "2,4", "heads": "2"}),
    "plain": Decoder(**{**SMALL, "embedding": 0}),
    "depths apart": Decoder(layers=(1, 3), width=8, inner=(16, 32), heads=1, embedding=(0, 4), factor=2),
    "one point": Decoder(layers=2, width=16, inner=32, heads=4, embedding=0),
}


@pytest.fixture(params=SPACES.values(), ids=SPACES)
def space(request: pytest.FixtureRequest) -> Decoder:
    return request.param


class TestContract(SpaceContract):
    pass


def test_every_architecture_is_another_network(space: Decoder) -> None:
    assert len({a.key for a in space.every()}) == space.size()


def test_every_architecture_keeps_the_rules(space: Decoder) -> None:
    for a in space.every():
        choices = dict(a.choices)
        assert len(choices["heads"]) == len(choices["inner"]) in space.allowed.layers
        assert all(i >= 2 * choices["width"] for i in choices["inner"])
        assert all(choices["width"] % h == 0 for h in choices["heads"])
        assert (choices["embedding"] == 0) <= (choices["factor"] == 1)
        assert (choices["embedding"], choices["factor"]) != (choices["width"], 1)


def test_all_positions_are_architectures_and_back(space: Decoder) -> None:
    rng = generator(7)
    for _ in range(50):
        indices = rng.integers(0, [len(d) for d in space.domains])
        assert space.contains(space.from_indices(indices))
    for a in space.sample_many(50, rng):
        assert space.from_indices(space.indices(a)) == a
        assert np.all(space.indices(a) < [len(d) for d in space.domains])


def test_mutation_without_a_probability_changes_one_choice(space: Decoder) -> None:
    rng = generator(8)
    for a in space.sample_many(50, rng):
        b = space.mutate(a, rng)
        if a == b or a["width"] != b["width"]:
            continue  # a new width may bring repairs
        x, y = dict(a.choices), dict(b.choices)
        shared = min(len(x["heads"]), len(y["heads"]))
        if not space.homogeneous:
            layers = list(zip(x["heads"][:shared], y["heads"][:shared], strict=True))
            layers += list(zip(x["inner"][:shared], y["inner"][:shared], strict=True))
            changes = sum(p != q for p, q in layers) + (len(x["heads"]) != len(y["heads"]))
            changes += (x["embedding"], x["factor"]) != (y["embedding"], y["factor"])
            assert changes == 1


def test_a_width_brings_the_nearest_of_what_it_breaks() -> None:
    space = Decoder(layers=1, width=(8, 24), inner=(16, 32, 48, 64), heads=(2, 3, 4, 8), embedding=(8, 16), factor=1)
    narrow = space.make({"backbone": "gpt2", "width": 8, "heads": [4], "inner": [16], "embedding": 8, "factor": 1})
    assert (narrow["embedding"], narrow["factor"]) == (0, 1), "a table as wide as the model is plain"
    wide = {b["width"]: b for b in space.neighbours(narrow)}[24]
    assert dict(wide.choices) == {
        "backbone": "gpt2", "width": 24, "heads": (4,), "inner": (48,), "embedding": 8, "factor": 1
    }  # fmt: skip
    found = {space.mutate(narrow, generator(i)) for i in range(200)}
    assert wide in found


def test_children_take_depth_width_and_layers_from_a_parent() -> None:
    space = Decoder(**{**SMALL, "layers": "1..6", "width": 8})
    rng = generator(3)
    for a, b in zip(space.sample_many(100, rng), space.sample_many(100, rng), strict=True):
        child = dict(space.crossover(a, b, rng).choices)
        assert len(child["heads"]) in (len(a["heads"]), len(b["heads"]))
        for name in ("heads", "inner"):
            for j, value in enumerate(child[name]):
                assert value in {p[name][j] for p in (a, b) if j < len(p[name])}
        assert (child["embedding"] or 8) in (a["embedding"] or 8, b["embedding"] or 8)
        assert child["factor"] in (a["factor"], b["factor"], 1)


def test_a_childs_embedding_is_one_of_its_parents() -> None:
    """A table as wide as the model is written as plain: a wider child does not get a wider table from it."""
    options = {"layers": 1, "width": (128, 512), "inner": (1024,), "heads": 2, "embedding": (128, 256, 384, 512)}
    space = Decoder(**options, factor=(1, 4))
    plain = space.make({"backbone": "gpt2", "width": 128, "heads": [2], "inner": [1024], "embedding": 128, "factor": 1})
    narrow = space.make({"backbone": "gpt2", "width": 512, "heads": [2], "inner": [1024], "embedding": 256, "factor": 1})
    assert plain["embedding"] == 0
    rng = generator(5)
    children = {space.crossover(plain, narrow, rng) for _ in range(100)}
    assert {(c["width"], c["embedding"] or c["width"]) for c in children} == {(128, 128), (128, 256), (512, 128), (512, 256)}
    for a, b in zip(space.sample_many(200, rng), space.sample_many(200, rng), strict=True):
        child = space.crossover(a, b, rng)
        assert (child["embedding"] or child["width"]) in {p["embedding"] or p["width"] for p in (a, b)}
    # Where plain is an option of its own, it stays plain at any width.
    free = Decoder(**{**options, "embedding": (0, 128, 256)}, factor=(1, 4))
    found = {free.crossover(plain, narrow, rng) for _ in range(100)}
    assert {(c["width"], c["embedding"]) for c in found} == {(128, 0), (128, 256), (512, 0), (512, 256)}


def test_the_homogeneous_space_lies_inside_the_other() -> None:
    equal, free = Decoder(**SMALL, homogeneous=True), Decoder(**SMALL)
    assert {a.key for a in equal.every()} < {a.key for a in free.every()}
    assert all(free.contains(a) for a in equal.every())
    apart = next(a for a in free.every() if len(set(a["inner"])) > 1)
    assert not equal.contains(apart)
    with pytest.raises(ConfigurationError, match="its layers differ, and the space is homogeneous"):
        equal.make(dict(apart.choices))


def test_size_of_the_papers_space() -> None:
    space = Decoder(factor=(1, 2, 4))
    per_width = [3 * sum(i >= 2 * w for i in range(256, 4097, 64)) for w in range(128, 1025, 64)]
    plain = [w in (128, 256, 512) for w in range(128, 1025, 64)]  # there, (w, 1) is written (0, 1): as many pairs
    assert space.size() == sum(9 * sum(n**depth for depth in range(2, 17)) for n in per_width)
    assert sum(plain) == 3
    assert 37 < math.log10(space.size()) < 38
    # The paper's figure, 10^54: as if layers had widths of their own.
    assert math.log10(space.size(free_widths=True)) == pytest.approx(54.2, abs=0.05)
    assert math.log10(Decoder(factor=4).size(free_widths=True)) == pytest.approx(53.7, abs=0.05)
    page = (Path(__file__).parents[2] / "docs" / "space.md").read_text(encoding="utf-8")
    power = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    for size in (Decoder(factor=4).size(), space.size(free_widths=True)):
        digits, _, exponent = f"{size:.1e}".partition("e+")
        assert f"{digits} × 10{exponent.translate(power)}" in page


def test_a_plain_table_counts_once() -> None:
    both = Decoder(layers=1, width=8, inner=16, heads=1, embedding=(0, 8), factor=(1, 2))
    assert both.size() == 2  # plain, and (8, 2); (8, 1) is plain
    assert both.size(free_widths=True) == 4


def test_large_models_have_300_to_500_million_parameters() -> None:
    for backbone in ("gpt2", "transformer_xl"):
        space = Decoder(backbone, **LARGE)
        millions = space.parameters(space.sample_values(5000, generator(0)), Sizes(vocabulary=50257)) / 1e6
        assert np.mean((millions >= 300) & (millions <= 500)) > 0.5
        assert 300 < np.median(millions) < 500


@pytest.mark.parametrize("homogeneous", [False, True])
@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
def test_arrays_count_as_single_architectures_do(backbone: str, homogeneous: bool) -> None:
    space = Decoder(backbone, embedding=(0, 128, 256, 512), factor=(1, 2, 4), homogeneous=homogeneous)
    values = space.sample_values(200, generator(1))
    architectures = [space.from_values(v) for v in values]
    assert all(space.contains(a) for a in architectures)
    assert values.shape == (200, space.dimensions)
    assert np.array_equal(np.stack([space.values(a) for a in architectures]), values)
    assert space.decoder_parameters(values).tolist() == [decoder_counts.decoder_parameters(a) for a in architectures]
    for cutoffs in (None, (1000, 5000)):
        sizes = Sizes(vocabulary=50257, positions=512, cutoffs=cutoffs)
        assert space.parameters(values, sizes).tolist() == [decoder_counts.parameters(a, sizes) for a in architectures]


def test_samples_are_uniform_given_the_width() -> None:
    space = Decoder(layers=(1, 2), width=(8, 16), inner=(16, 32, 48), heads=(1, 2), embedding=(0, 4), factor=2)
    values = space.sample_values(20000, generator(0))
    assert np.isclose(np.mean(values[:, 0] == 1), 0.5, atol=0.02)
    assert np.isclose(np.mean(values[:, 1] == 8), 0.5, atol=0.02)
    inner, heads, width = values[:, -2], values[:, 4], values[:, 1]
    for w, allowed in ((8, (16, 32, 48)), (16, (32, 48))):
        assert [np.mean(inner[width == w] == i) for i in allowed] == pytest.approx([1 / len(allowed)] * len(allowed), abs=0.02)
    assert np.isclose(np.mean(heads == 1), 0.5, atol=0.02)
    assert np.all(values[values[:, 0] == 1][:, [5, 7]] == 0), "layers that are not there are 0"


def test_the_free_functions_architecture_is_the_spaces() -> None:
    space = Decoder()
    for a in space.sample_many(20, generator(0)):
        assert architecture(**dict(a.choices)) == a
    assert architecture("gpt2", 128, [2], [256], 128, 1) == architecture("gpt2", 128, [2], [256])


def test_keys_tell_backbones_apart() -> None:
    assert Decoder().largest().key != Decoder("transformer_xl").largest().key
    assert not Decoder().contains(Decoder("transformer_xl").largest())


BASE = {"backbone": "gpt2", "width": 8, "heads": [1], "inner": [16], "embedding": 4, "factor": 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"backbone": "transformer_xl"}, "its backbone is `transformer_xl`, the space's is `gpt2`"),
        ({"inner": [16, 16]}, "1 values of `heads` and 2 of `inner`"),
        ({"heads": [1] * 3, "inner": [16] * 3}, "it has 3 layers, the space at most 2"),
        ({"heads": [], "inner": []}, "it has 0 layers"),
        ({"inner": [16.5]}, "must be whole numbers"),
        ({"width": "8"}, "must be whole numbers"),
        ({"width": 32}, "is outside the bounds of the space `decoder`"),
        ({"heads": [3]}, "is outside the bounds of the space"),
        ({"inner": [24]}, "is outside the bounds of the space"),
        ({"embedding": 5}, "is outside the bounds of the space"),
        ({"factor": 3}, "is outside the bounds of the space"),
    ],
)
def test_what_is_no_architecture_of_the_space(change: dict, message: str) -> None:
    space = Decoder(**SMALL)
    assert space.contains(space.make(BASE))
    with pytest.raises(ConfigurationError, match=message):
        space.make({**BASE, **change})
    wrong = {**BASE, **change}
    assert not space.contains(Architecture.of("decoder", wrong, space.make(BASE).key))


def test_missing_choices_and_another_spelling() -> None:
    space = Decoder(**SMALL)
    with pytest.raises(ConfigurationError, match="is not an architecture"):
        space.make({"backbone": "gpt2"})
    plain = {**BASE, "embedding": 8, "factor": 1}
    assert space.make(plain)["embedding"] == 0
    assert not space.contains(Architecture.of("decoder", plain, space.make(plain).key))


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        ({"backbone": "gpt3"}, ["unknown backbone `gpt3`. Did you mean `gpt2`?"]),
        ({"layers": "5..2"}, ["`layers`: the range 5..2 is empty"]),
        ({"layers": "0..2"}, ["`layers` must be whole numbers from 1 to 1,000, got 0"]),
        ({"layers": "2.."}, ["`layers` must name both ends"]),
        ({"width": ":64"}, ["`width` must name both ends"]),
        ({"width": "wide"}, ["`width` must look like 4..12"]),
        ({"heads": ()}, ["`heads` is empty"]),
        ({"heads": "2,x"}, ["`heads` must look like 2,4,8"]),
        ({"embedding": (-1,)}, ["`embedding` must be whole numbers from 0 to 100,000, got -1"]),
        ({"factor": (1.5,)}, ["`factor` must be whole numbers from 1 to 16, got 1.5"]),
        ({"inner": "256..1000:64", "width": "512..1024:64"}, ["`inner` must be at least twice the `width`"]),
        ({"heads": (17, 19)}, ["`heads` must divide the `width`: none of 17, 19 divides any of 128, 192, 256, …"]),
        (
            {"heads": (3,), "width": (128, 192), "inner": (256,)},
            ["no `width` is compatible with both `inner` and `heads`: 128 have"],
        ),
        (
            {"backbone": "x", "layers": "3..1", "heads": (7,), "inner": "256", "width": "1024"},
            ["unknown backbone `x`", "`layers`: the range 3..1 is empty", "`inner` must be at least", "`heads` must divide"],
        ),
    ],
)
def test_faults_are_all_listed(given: dict, faults: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Decoder(**given)
    assert len(caught.value.faults) == len(faults)
    for found, expected in zip(caught.value.faults, faults, strict=True):
        assert found.startswith(expected)
        assert "\n" not in found


def test_widths_that_nothing_goes_with_are_left_out() -> None:
    space = Decoder(width="128..1024:64", inner="256..512:64", heads=(3, 5))
    assert space.allowed.width == (192,)
    assert all(a["width"] == 192 for a in space.sample_many(20, generator(0)))


def test_options_are_read_in_every_form() -> None:
    forms = ["2,4,8", " 8, 4,2,2", (2, 4, 8), [8, 4, 2], {2, 4, 8}]
    assert {options(f, "heads") for f in forms} == {(2, 4, 8)}
    assert options("2..8:3", "heads") == options(Range(2, 8, 3), "heads") == (2, 5, 8)
    assert options(3, "heads") == options("3", "heads") == (3,)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.floats(0.01, 1.0))
def test_long_walks_stay_inside(seed: int, probability: float) -> None:
    space = Decoder(embedding=(0, 128, 256, 512), factor=(1, 2, 4))
    rng = generator(seed)
    a, b = space.sample_many(2, rng)
    for _ in range(5):
        a, b = space.mutate(a, rng, probability), space.crossover(a, b, rng)
        assert space.contains(a)
        assert space.contains(b)
        assert np.all((space.encode(a) >= 0) & (space.encode(a) <= 1))
