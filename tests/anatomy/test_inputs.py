"""The longest text is the longest that the model really reads."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import torch

from secateur.anatomy import ANATOMIES
from secateur.anatomy.inputs import blank_inputs, image_size, is_multiple_choice, longest_text, read_length, reads_images
from secateur.testing.models import DECODERS, ENCODERS, FAMILIES, VISION, toy_model


@pytest.mark.parametrize(
    ("family", "longest"),
    [("bert", 64), ("roberta", 63), ("distilbert", 64), ("gpt2", 64), ("electra", 64), ("mpnet", 62), ("opt", 64)],
)
@torch.no_grad()
def test_a_position_table_holds_so_many_and_no_more(family, longest):
    model = toy_model(family)  # the padding id is 0
    assert longest_text(model.config) == longest
    model(input_ids=torch.full((1, longest), 5))
    with pytest.raises((IndexError, RuntimeError)):
        model(input_ids=torch.full((1, longest + 1), 5))


@pytest.mark.parametrize("family", ["xlm-roberta", "camembert", "mpnet", "longformer", "xmod", "roberta-prelayernorm"])
@torch.no_grad()
def test_families_like_roberta(family):
    import transformers

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 9}
    extra = {"attention_window": 4} if family == "longformer" else {"default_language": "en_XX"} if family == "xmod" else {}
    config = transformers.AutoConfig.for_model(family, max_position_embeddings=14, pad_token_id=1, **sizes, **extra)
    model = transformers.AutoModel.from_config(config).eval()
    assert longest_text(config) == 12
    model(input_ids=torch.full((1, 12), 5))
    if family != "longformer":  # it pads to its window, with padding's own position
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=torch.full((1, 13), 5))


def test_the_limit_that_rotary_positions_are_trained_for_counts():
    assert longest_text(toy_model("llama").config) == 64


def test_an_exported_networks_family_is_known():
    config = SimpleNamespace(model_type="secateur_roberta", max_position_embeddings=16, pad_token_id=1)
    assert longest_text(config) == 14


def test_without_a_limit_any_text_fits():
    assert longest_text(SimpleNamespace(model_type="t5")) == sys.maxsize
    assert longest_text(SimpleNamespace(max_position_embeddings=None)) == sys.maxsize


@torch.no_grad()
def test_images_are_read_at_their_own_size():
    model = toy_model("vit", image_size=[8, 12], patch_size=[4, 2])
    assert reads_images(model.config)
    assert image_size(model.config) == (8, 12)
    assert read_length(model.config, 128) == 1 + 2 * 6
    inputs = blank_inputs(model, 3, 128)
    assert inputs["pixel_values"].shape == (3, 3, 8, 12)
    assert model.vit(**inputs).last_hidden_state.shape[1] == 13
    text = toy_model("bert")
    assert not reads_images(text.config)
    assert read_length(text.config, 7) == 7
    assert text.bert(**blank_inputs(text, 3, 7)).last_hidden_state.shape == (3, 7, 16)


def test_multiple_choice_is_told_by_the_head():
    assert is_multiple_choice(toy_model("bert", "multiple_choice"))
    assert not is_multiple_choice(toy_model("bert"))


def test_decoders_are_marked():
    assert {family for family in FAMILIES if ANATOMIES[family].decoder} == set(DECODERS)
    assert not any(ANATOMIES[family].decoder for family in (*ENCODERS, *VISION))
    assert [family for family in ANATOMIES if ANATOMIES[family].images] == list(VISION)
