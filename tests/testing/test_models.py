"""The toy models and batches that other tests stand on."""

from __future__ import annotations

import pytest
import torch

from secateur.errors import ConfigurationError
from secateur.testing.models import ENCODERS, FAMILIES, VISION, toy_batch, toy_model


@pytest.mark.parametrize("family", [*FAMILIES, *VISION])
def test_seeded_and_random_everywhere(family):
    torch.manual_seed(0)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    one, same, other = toy_model(family), toy_model(family), toy_model(family, seed=1)
    assert torch.equal(torch.rand(1), drawn)  # the global generator is left alone
    assert not one.training
    for (name, a), b, c in zip(one.named_parameters(), same.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
        assert a.unique().numel() > 1 or a.numel() == 1, name


@pytest.mark.parametrize("kind", ["classification", "regression", "multiple_choice"])
def test_batches_fit_the_model(kind):
    for family in ENCODERS:
        model = toy_model(family, kind)
        output = model(**toy_batch(model, batch=2))
        assert torch.isfinite(output.loss)
        # DeBERTa's scores of a regression are (2,).
        assert output.logits.view(2, -1).shape[1] == {"classification": 3, "regression": 1, "multiple_choice": 2}[kind]


def test_images_fit_the_model():
    for family in VISION:
        model = toy_model(family)
        batch = toy_batch(model, batch=2)
        assert set(batch) == {"pixel_values", "labels"}
        assert set(toy_batch(model, labels=False)) == {"pixel_values"}
        output = model(**batch)
        assert torch.isfinite(output.loss)
        assert output.logits.shape == (2, 3)


@pytest.mark.parametrize(("padding", "expected"), [("right", [[1, 1, 1], [1, 1, 0]]), ("left", [[1, 1, 1], [0, 1, 1]])])
def test_padding(padding, expected):
    model = toy_model("gpt2", "causal", layers=1)
    batch = toy_batch(model, batch=2, length=3, padding=padding)
    assert batch["attention_mask"].tolist() == expected
    assert ((batch["input_ids"] == 0) == (batch["attention_mask"] == 0)).all()
    assert ((batch["labels"] == -100) == (batch["attention_mask"] == 0)).all()


def test_no_padding_and_no_labels():
    batch = toy_batch(toy_model("bert", layers=1), padding=None, labels=False)
    assert set(batch) == {"input_ids", "attention_mask"}
    assert batch["attention_mask"].all()


@pytest.mark.parametrize(
    ("family", "kind", "message"),
    [
        ("mamba", "causal", "`family` must be one of"),
        ("bert", "translation", "`kind` must be one of"),
        ("bert", "causal", "no toy model of kind `causal`"),
        ("gpt2", "multiple_choice", "no toy model of kind `multiple_choice`"),
        ("vit", "classification", "no toy model of kind `classification`"),
        ("bert", "image_classification", "no toy model of kind `image_classification`"),
    ],
)
def test_what_there_is_not(family, kind, message):
    with pytest.raises(ConfigurationError, match=message):
        toy_model(family, kind)


def test_an_unknown_padding():
    with pytest.raises(ConfigurationError, match="`padding` must be right, left or None"):
        toy_batch(toy_model("bert", layers=1), padding="both")
