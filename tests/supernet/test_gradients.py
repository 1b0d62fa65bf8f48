"""Gradients through `select` are exactly those of the mask reference, however they are asked for."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.spaces.pruning import Kept, LayerPlan, Plan
from secateur.supernet import Supernet
from secateur.testing.anatomies import assert_close, contract_plans, gradients
from secateur.testing.masks import masked
from secateur.testing.models import toy_batch, toy_model

PREFIXES = Plan.of([LayerPlan(0, Kept.first(2), Kept.first(5)), LayerPlan(2, Kept.first(3), Kept.first(12))])
GATHERS = Plan.of([LayerPlan(0, Kept.chosen([1, 3]), Kept.chosen([0, 4, 11])), LayerPlan(1, Kept.chosen([2]), Kept.first(0))])
FAMILIES = ["bert", "distilbert", "modernbert", "gpt2", "opt", "gpt_neox", "qwen3", "gemma2", "phi"]


def training_supernet(family, attention="sdpa"):
    supernet = Supernet(toy_model(family, attention=attention))
    supernet.model.train()
    return supernet


def reference(supernet, plan, batch):
    with masked(supernet, plan) as model:
        model(**batch).loss.backward()
    return gradients(supernet)


def same(supernet, expected, factor=1):
    for name, gradient in gradients(supernet).items():
        assert_close(gradient, factor * expected[name], name)


@pytest.mark.parametrize("plan", [PREFIXES, GATHERS], ids=["prefixes", "gathers"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_zero_outside_and_not_inside_the_kept_part(plan, attention):
    supernet = training_supernet("bert", attention)
    with supernet.select(plan) as model:
        model(**toy_batch(model)).loss.backward()
    found = gradients(supernet)
    kept = {p.index: p for p in plan.layers}
    for i in range(3):
        prefix = f"bert.encoder.layer.{i}."
        if i not in kept:
            assert all(not g.any() for name, g in found.items() if name.startswith(prefix))
            continue
        rows = found[prefix + "attention.self.value.weight"].view(4, -1).abs().sum(1)
        columns = found[prefix + "output.dense.weight"].abs().sum(0)
        assert set(torch.nonzero(rows).flatten().tolist()) == set(kept[i].heads.indices())
        assert set(torch.nonzero(columns).flatten().tolist()) == set(kept[i].units.indices())


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("plan", [PREFIXES, GATHERS], ids=["prefixes", "gathers"])
@pytest.mark.parametrize("family", FAMILIES)
def test_under_gradient_checkpointing_with_backward_outside(family, plan, reentrant):
    supernet = training_supernet(family)
    batch = toy_batch(supernet.model)
    expected = reference(supernet, plan, batch)
    supernet.model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    supernet.model.enable_input_require_grads()  # as Trainer does: a re-entrant checkpoint needs an input with a gradient
    with supernet.select(plan) as model:
        loss = model(**batch).loss
    loss.backward()
    same(supernet, expected)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_losses_of_two_plans_in_one_backward(reentrant):
    """The sandwich: several sub-networks, one backward pass after all contexts have closed."""
    supernet = training_supernet("bert")
    batch = toy_batch(supernet.model)
    expected = [reference(supernet, plan, batch) for plan in (PREFIXES, GATHERS, supernet.whole)]
    supernet.model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    supernet.model.enable_input_require_grads()
    losses = []
    for plan in (PREFIXES, GATHERS, supernet.whole):
        with supernet.select(plan) as model:
            losses.append(model(**batch).loss)
    sum(losses).backward()
    same(supernet, {name: sum(e[name] for e in expected) for name in expected[0]})


@pytest.mark.parametrize("plan", [PREFIXES, GATHERS], ids=["prefixes", "gathers"])
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_several_backward_passes_in_one_context(family, plan):
    supernet = training_supernet(family)
    batch = toy_batch(supernet.model)
    expected = reference(supernet, plan, batch)
    with supernet.select(plan) as model:
        for _ in range(2):
            model(**batch).loss.backward()
    same(supernet, expected, factor=2)


def test_entered_without_gradients_and_run_with_them():
    supernet = training_supernet("bert")
    batch = toy_batch(supernet.model)
    expected = reference(supernet, GATHERS, batch)
    with torch.no_grad(), supernet.select(GATHERS) as model, torch.enable_grad():
        model(**batch).loss.backward()
    same(supernet, expected)


def test_no_gradient_is_kept_where_none_is_wanted():
    supernet = training_supernet("bert")
    with supernet.select(PREFIXES) as model, torch.no_grad():
        assert not model(**toy_batch(model)).logits.requires_grad


def test_frozen_weights_get_no_gradient():
    supernet = training_supernet("bert")
    frozen = supernet.layers[0].output.dense.weight
    frozen.requires_grad_(False)
    with supernet.select(PREFIXES) as model:
        model(**toy_batch(model)).loss.backward()
    assert frozen.grad is None
    assert supernet.layers[0].intermediate.dense.weight.grad is not None


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), family=st.sampled_from(FAMILIES))
def test_random_plans(seed, family):
    supernet = training_supernet(family)
    batch = toy_batch(supernet.model, seed=seed)
    plan = contract_plans(supernet.shape, seed=seed, each=1)[seed % 10]
    expected = reference(supernet, plan, batch)
    with supernet.select(plan) as model:
        loss = model(**batch).loss
    loss.backward()
    same(supernet, expected)
