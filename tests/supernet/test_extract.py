"""`extract` gives a copy that owns its weights."""

from __future__ import annotations

import pytest
import torch

from secateur.spaces.pruning import Kept, LayerPlan, Plan
from secateur.supernet import Supernet
from secateur.testing.models import toy_batch, toy_model

PLAN = Plan.of([LayerPlan(0, Kept.first(4), Kept.first(12)), LayerPlan(2, Kept.chosen([1, 3]), Kept.first(5))])


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_weights_are_its_own(family):
    supernet = Supernet(toy_model(family))
    batch = toy_batch(supernet.model)
    small = supernet.extract(PLAN)
    with torch.no_grad():
        before, whole = small(**batch).logits, supernet.model(**batch).logits
        shared = {p.untyped_storage().data_ptr() for p in supernet.model.parameters()}
        assert not shared & {p.untyped_storage().data_ptr() for p in small.parameters()}
        for parameter in supernet.model.parameters():
            parameter.add_(1)
        assert torch.equal(small(**batch).logits, before)
        for parameter in supernet.model.parameters():
            parameter.sub_(1)
        for parameter in small.parameters():
            parameter.zero_()
        assert torch.allclose(supernet.model(**batch).logits, whole, atol=1e-4)


def test_every_parameter_is_a_contiguous_leaf_of_the_right_size():
    small = Supernet(toy_model("gpt2")).extract(PLAN)
    for parameter in small.parameters():
        assert isinstance(parameter, torch.nn.Parameter)
        assert parameter.is_leaf
        assert parameter.is_contiguous()
        assert parameter.untyped_storage().size() == parameter.numel() * parameter.element_size()  # no view of something larger
    attention = small.transformer.h[1].attn
    assert (attention.num_heads, attention.split_size, tuple(attention.c_attn.weight.shape)) == (2, 8, (16, 24))
    assert (attention.c_attn.nf, attention.c_proj.nx) == (24, 8)


def test_frozen_stays_frozen_and_trained_stays_trained():
    supernet = Supernet(toy_model("bert"))
    for name, parameter in supernet.model.named_parameters():
        parameter.requires_grad_("query" not in name)
    for context in (torch.no_grad(), torch.enable_grad()):
        with context:
            small = supernet.extract(PLAN)
        assert {name: p.requires_grad for name, p in small.named_parameters()} == {
            name: "query" not in name for name, _ in small.named_parameters()
        }
    trained = sum(p.numel() for p in small.parameters() if p.requires_grad)
    assert Supernet(supernet.model).parameters(PLAN) == trained


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_the_models(training):
    supernet = Supernet(toy_model("bert"))
    supernet.model.train(training)
    empty_parts = Plan.of([LayerPlan(0, Kept.first(0), Kept.first(3)), LayerPlan(1, Kept.first(1), Kept.first(0))])
    assert {module.training for module in supernet.extract(empty_parts).modules()} == {training}
    assert {module.training for module in supernet.model.modules()} == {training}


def test_extracted_inside_select_is_whole_and_free():
    supernet = Supernet(toy_model("bert"))
    batch = toy_batch(supernet.model)
    with torch.no_grad():
        expected = supernet.extract(PLAN)(**batch).logits
        with supernet.select(Plan.uniform(1, 1, 1)):
            small = supernet.extract(PLAN)
        assert torch.equal(small(**batch).logits, expected)
    small.train().double().load_state_dict(small.state_dict())  # nothing of the context's refusals is left on it
    assert small.config.num_hidden_layers == 2


def test_it_can_be_trained_pickled_and_cast(tmp_path):
    small = Supernet(toy_model("bert")).extract(PLAN).train()
    batch = toy_batch(small)
    optimiser = torch.optim.SGD(small.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = small(**batch).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    assert all(p.grad is not None for p in small.bert.encoder.parameters())
    assert "encoder.layer.1.output.dense.weight" in small.bert.state_dict()


def test_tied_weights_stay_tied():
    supernet = Supernet(toy_model("gpt2", "causal"))
    assert supernet.model.lm_head.weight is supernet.model.transformer.wte.weight
    small = supernet.extract(PLAN)
    assert small.lm_head.weight is small.transformer.wte.weight
    assert supernet.parameters(PLAN) == sum(p.numel() for p in small.parameters())


def test_inverse_layer_scaling_keeps_the_original_layers_place():
    """GPT-2 can scale attention by 1 / (layer + 1): a kept layer keeps its own."""
    supernet = Supernet(toy_model("gpt2", scale_attn_by_inverse_layer_idx=True))
    small = supernet.extract(PLAN)
    assert [block.attn.scaling for block in small.transformer.h] == pytest.approx([0.5, 0.5 / 3])
    assert [block.attn.layer_idx for block in small.transformer.h] == [0, 1]
