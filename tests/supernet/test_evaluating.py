from __future__ import annotations

import pytest
import torch

from secateur.supernet.evaluating import evaluating, no_cache
from secateur.testing.models import DECODERS, ENCODERS, toy_batch, toy_model


def test_every_module_gets_its_own_mode_back():
    model = toy_model("bert").train()
    model.classifier.eval()
    with evaluating(model):
        assert not any(m.training for m in model.modules())
        assert torch.is_inference_mode_enabled()
    assert not torch.is_inference_mode_enabled()
    assert model.training
    assert not model.classifier.training
    assert model.bert.training


def test_also_after_an_exception():
    model = toy_model("bert").train()
    with pytest.raises(ZeroDivisionError), evaluating(model):
        1 / 0  # noqa: B018
    assert all(m.training for m in model.modules())


@pytest.mark.parametrize("kind", ["classification", "causal"])
@pytest.mark.parametrize("family", DECODERS)
def test_decoders_store_no_keys_and_values(family, kind):
    model = toy_model(family, kind)
    batch = toy_batch(model)
    with evaluating(model):
        stored, bare = model(**batch), model(**no_cache(model), **batch)
    assert stored.past_key_values is not None
    assert bare.past_key_values is None
    assert torch.allclose(stored.logits, bare.logits, atol=1e-6)


@pytest.mark.parametrize("family", ENCODERS)
def test_encoders_are_not_asked(family):
    assert no_cache(toy_model(family)) == {}
