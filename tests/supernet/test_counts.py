"""Parameters and MACs by arithmetic, beyond what the contract of anatomies checks."""

from __future__ import annotations

import pytest

from secateur.spaces.pruning import Plan
from secateur.supernet import Supernet
from secateur.testing.models import toy_model

HALF = Plan.uniform(2, 2, 6)


def test_bert_by_hand():
    supernet = Supernet(toy_model("bert"))
    width, head, units = 16, 4, 6
    attention = 3 * (width + 1) * 2 * head + 2 * head * width + width + 2 * width
    feed_forward = (width + 1) * units + units * width + width + 2 * width
    assert supernet.body_parameters(HALF) == 2 * (attention + feed_forward)
    tokens, length = 3 * 5, 5
    macs = 2 * tokens * (4 * width * 2 * head + 2 * width * units + 2 * length * 2 * head)
    assert supernet.macs(HALF, batch=3, length=5) - supernet.macs(Plan.of([]), batch=3, length=5) == macs


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_decoder_that_classifies_is_counted_without_a_padding_token(family):
    given, none = (Supernet(toy_model(family, pad_token_id=pad)) for pad in (0, None))
    assert none.macs(HALF, batch=3, length=5) == given.macs(HALF, batch=3, length=5)
    assert none.model.config.pad_token_id is None
    if family == "gpt2":
        assert none.macs(Plan.of([]), batch=3, length=5) == 3 * 5 * 16 * 3, "the head alone: every token, 16 wide, 3 labels"


def test_frozen_parameters_do_not_count():
    model = toy_model("bert")
    whole = Supernet(model).parameters(HALF)
    embeddings = sum(p.numel() for p in model.bert.embeddings.parameters())
    model.bert.embeddings.requires_grad_(False)
    assert Supernet(model).parameters(HALF) == whole - embeddings
    body = Supernet(model).body_parameters(HALF)
    for layer in model.bert.encoder.layer:
        layer.attention.requires_grad_(False)
    supernet = Supernet(model)
    trained = sum(p.numel() for p in supernet.extract(HALF).bert.encoder.parameters() if p.requires_grad)
    assert supernet.body_parameters(HALF) == trained < body


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_counting_works_inside_select(family):
    expected = Supernet(toy_model(family))
    supernet = Supernet(toy_model(family))
    with supernet.select(Plan.uniform(1, 1, 1)):
        assert supernet.parameters(HALF) == expected.parameters(HALF)
        assert supernet.macs(HALF, length=5) == expected.macs(HALF, length=5)
    assert supernet.parameters(supernet.whole) == sum(p.numel() for p in supernet.model.parameters())


def test_monotone_in_every_dimension():
    supernet = Supernet(toy_model("llama", "causal"))
    for bigger in (Plan.uniform(3, 2, 6), Plan.uniform(2, 3, 6), Plan.uniform(2, 2, 7)):
        assert supernet.parameters(bigger) > supernet.parameters(HALF)
        assert supernet.macs(bigger, length=5) > supernet.macs(HALF, length=5)
