from __future__ import annotations

import pytest

from secateur.errors import ConfigurationError, UnknownNameError
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_counts import decoder_parameters
from secateur.spaces.layer_scaling import BASES, base_of


def test_gpt2_small_has_its_published_layers_and_a_plain_table():
    assert [len(base_of("gpt2").with_layers(n)["heads"]) for n in range(1, 17)] == list(range(1, 17))
    twelve = base_of("gpt2").with_layers(12)
    assert dict(twelve.choices) == {
        "backbone": "gpt2",
        "width": 768,
        "heads": (12,) * 12,
        "inner": (3072,) * 12,
        "embedding": 0,
        "factor": 1,
    }
    assert decoder_parameters(twelve) == 85_056_000  # transformers' GPT2Model: 124,439,808 − 50,257 × 768 − 1,024 × 768


def test_transformer_xl_base_has_ten_heads_of_41():
    only = base_of("transformer_xl").with_layers(16)
    assert (only["width"], only["heads"], only["inner"]) == (410, (10,) * 16, (2100,) * 16)
    assert (only["embedding"], only["factor"]) == (0, 1)


def test_the_embedding_can_be_that_of_the_search():
    divided = base_of("gpt2", factor=4).with_layers(2)
    assert (divided["embedding"], divided["factor"]) == (768, 4)
    narrow = base_of("transformer_xl", embedding=128, factor=4).with_layers(2)
    assert (narrow["embedding"], narrow["factor"]) == (128, 4)
    plain = base_of("gpt2", embedding=0, factor=4).with_layers(2)
    assert plain == base_of("gpt2").with_layers(2)
    assert decoder_parameters(divided) == decoder_parameters(plain)


def test_keys_are_those_of_the_space():
    space = Decoder("gpt2", layers="2..3", width=(64,), inner=(256,), heads=(4,), embedding=(0, 32), factor=(4,))
    scaled = base_of("gpt2", width=64, heads=4, inner=256, embedding=32, factor=4)
    assert all(space.contains(scaled.with_layers(n)) for n in (2, 3))
    assert not space.contains(base_of("gpt2").with_layers(2))
    assert len({base.with_layers(n).key for base in BASES.values() for n in range(1, 17)}) == 32


def test_names_say_where_a_base_is_not_the_published_one():
    assert BASES["gpt2"].title(1) == "GPT-2 small, 1 layer"
    assert base_of("gpt2", factor=4).title(6) == "GPT-2 small, 6 layers"
    assert base_of("transformer_xl", width=64, heads=4, inner=128).title(2) == "Transformer-XL 64 wide, 2 layers"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 100, "heads": 12}, "multiple of `heads`, got 100 and 12"),
        ({"inner": 0, "factor": 0}, "`inner` must be at least 1, got 0; `factor` must be at least 1"),
        ({"embedding": -1}, "`embedding` must be at least 0"),
    ],
)
def test_what_cannot_be_made_is_refused(options, words):
    with pytest.raises(ConfigurationError, match=words):
        base_of("gpt2", **options)


def test_a_network_without_layers_is_refused():
    with pytest.raises(ConfigurationError, match="`layers` must be at least 1, got 0"):
        BASES["gpt2"].with_layers(0)


def test_an_unknown_backbone_is_refused():
    with pytest.raises(UnknownNameError, match="bert"):
        base_of("bert")
