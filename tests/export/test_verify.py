from __future__ import annotations

import pytest

from secateur.errors import ExportError
from secateur.export.verify import padded_batch, verify


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "gpt2", "llama"])
def test_batches_look_real(family, supernet_of):
    model = supernet_of(family).model
    batch = padded_batch(model, token_types=family == "bert")
    pad = model.config.pad_token_id
    assert ((batch["input_ids"] == pad) == (batch["attention_mask"] == 0)).all()
    assert batch["attention_mask"].sum(1).unique().numel() == 3
    assert batch["input_ids"].max() < model.config.vocab_size
    model(**batch)


def test_batches_without_a_padding_id(supernet_of):
    batch = padded_batch(supernet_of("gpt2", pad_token_id=None).model)
    assert batch["attention_mask"].all()
    assert len(batch["input_ids"]) == 3
    model = supernet_of("gpt2", "GPT2ForSequenceClassification", pad_token_id=None).model
    batch = padded_batch(model)
    assert len(batch["input_ids"]) == 1
    model(**batch)


def test_choices(supernet_of):
    model = supernet_of("bert", "BertForMultipleChoice").model
    batch = padded_batch(model, "multiple_choice", token_types=True)
    assert {tensor.shape for tensor in batch.values()} == {(3, 2, 24)}
    model(**batch)


def test_other_shapes_are_refused(supernet_of, plans):
    supernet, plan = supernet_of("bert"), plans["mixed"]()
    other = supernet_of("bert", num_labels=5).extract(plan)
    with pytest.raises(ExportError, match=r"reloaded network's outputs have the shape \(3, 5\) instead of \(3, 2\)"):
        verify(supernet, plan, other, batch=padded_batch(other))


def test_the_tolerance_is_the_one_promised(supernet_of, plans):
    """Small outputs: differences above 1e-5 are refused, those below are reported."""
    import torch

    supernet, plan = supernet_of("bert"), plans["mixed"]()
    model = supernet.extract(plan)
    batch = padded_batch(model)
    with torch.no_grad():
        assert float(model(**batch).logits.abs().max()) < 1
        model.classifier.bias.add_(5e-6)
        assert 4e-6 < verify(supernet, plan, model, batch=batch)["reloaded"] < 6e-6
        model.classifier.bias.add_(1e-5)
    with pytest.raises(ExportError, match="differ"):
        verify(supernet, plan, model, batch=batch)


def test_it_leaves_the_models_modes_alone(supernet_of, plans):
    supernet, plan = supernet_of("bert"), plans["mixed"]()
    model = supernet.extract(plan).train()
    supernet.model.train()
    model.classifier.eval()
    verify(supernet, plan, model, batch=padded_batch(model))
    assert supernet.model.training
    assert model.bert.training
    assert not model.classifier.training
