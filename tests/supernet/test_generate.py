"""Decoders generate from selected and extracted sub-networks as plain decoding without a cache does."""

from __future__ import annotations

import pytest
import torch
from transformers import DynamicCache

from secateur.spaces.pruning import Kept, LayerPlan, Plan
from secateur.supernet import Supernet
from secateur.testing.masks import masked
from secateur.testing.models import DECODERS, toy_batch, toy_model

NEW = 6
ALL, NONE = Kept.first(4), Kept.first(0)
UNITS = Kept.first(7)

PLANS = {
    "whole": Plan.uniform(4, 4, 12),
    "fewer": Plan.of([LayerPlan(1, Kept.first(2), UNITS), LayerPlan(3, Kept.chosen([0, 3]), Kept.chosen([1, 5, 9]))]),
    "no attention at the start": Plan.of(
        [LayerPlan(0, NONE, UNITS), LayerPlan(1, ALL, UNITS), LayerPlan(3, Kept.first(1), NONE)]
    ),
    "no attention in the middle": Plan.of([LayerPlan(0, ALL, UNITS), LayerPlan(1, NONE, UNITS), LayerPlan(2, ALL, UNITS)]),
    "no attention at the end": Plan.of([LayerPlan(0, ALL, UNITS), LayerPlan(2, NONE, UNITS)]),
    "no attention at all": Plan.uniform(3, 0, 7),
    "nothing": Plan.of([]),
}
MIXED = {"layer_types": ["full_attention", "sliding_attention"] * 2, "use_sliding_window": True, "sliding_window": 3}
MODELS = {family: {} for family in DECODERS} | {"mistral-window": {"sliding_window": 3}, "qwen3-mixed": MIXED}


@pytest.fixture(params=MODELS, scope="module")
def supernet(request):
    return Supernet(toy_model(request.param.split("-")[0], "causal", layers=4, **MODELS[request.param]))


@pytest.fixture(params=PLANS)
def plan(request):
    return PLANS[request.param]


def prompt(supernet, padding="left"):
    return toy_batch(supernet.model, batch=3, length=6, padding=padding, labels=False)


def positions(mask):
    return (mask.cumsum(1) - 1).clamp(min=0)


@torch.no_grad()
def decoded(supernet, plan, batch, new=NEW):
    """Greedy decoding by the mask reference: the whole text anew for every token, no cache. Tokens, and logits per step."""
    tokens, mask = batch["input_ids"], batch["attention_mask"]
    logits = []
    with masked(supernet, plan) as model:
        for _ in range(new):
            out = model(input_ids=tokens, attention_mask=mask, position_ids=positions(mask), use_cache=False)
            logits.append(out.logits[:, -1])
            tokens = torch.cat([tokens, logits[-1].argmax(-1, keepdim=True)], 1)
            mask = torch.cat([mask, torch.ones_like(mask[:, :1])], 1)
    return tokens, torch.stack(logits)


def generated(model, batch, **settings):
    out = model.generate(
        **batch,
        max_new_tokens=NEW,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
        pad_token_id=0,
        **settings,
    )
    return out.sequences, torch.stack(out.logits)


def same(found, expected):
    assert torch.equal(found[0], expected[0])
    assert torch.allclose(found[1], expected[1], atol=1e-4)


def test_greedy_with_left_padding(supernet, plan):
    batch = prompt(supernet)
    expected = decoded(supernet, plan, batch)
    with supernet.select(plan) as model:
        same(generated(model, batch), expected)
    small = supernet.extract(plan)
    same(generated(small, batch), expected)
    same(generated(small, batch, use_cache=False), expected)


def test_the_cache_counts_the_layers_that_have_attention(supernet, plan):
    stack = supernet.extract(plan).base_model.get_submodule(supernet.anatomy.layers)
    attentions = [m for layer in stack for m in layer.modules() if m is not layer and getattr(m, "layer_idx", None) is not None]
    assert [m.layer_idx for m in attentions] == list(range(plan.attention_layers))
    with supernet.select(plan) as model:
        mixed = len(set(getattr(model.config, "layer_types", None) or ["one"])) > 1
        expected = plan.attention_layers > 0 and not (mixed and plan.attention_layers < len(plan.layers))
        assert model.config.use_cache is expected
        assert model.generation_config.use_cache is expected
    small = supernet.extract(plan)
    assert small.config.use_cache is expected
    assert small.generation_config.use_cache is expected


@pytest.mark.parametrize("name", [name for name in PLANS if PLANS[name].attention_layers])
def test_chunked_prefill(supernet, name):
    plan = PLANS[name]
    small = supernet.extract(plan)
    batch = prompt(supernet)
    if not small.generation_config.use_cache:
        with pytest.raises(ValueError, match="without a cache"):
            generated(small, batch, prefill_chunk_size=2)
        return
    expected = decoded(supernet, plan, batch)
    same(generated(small, batch, prefill_chunk_size=2), expected)
    with supernet.select(plan) as model:
        same(generated(model, batch, prefill_chunk_size=4), expected)


@pytest.mark.parametrize("name", [name for name in PLANS if PLANS[name].attention_layers])
@torch.no_grad()
def test_two_step_forward_with_a_cache(supernet, name):
    plan = PLANS[name]
    batch = prompt(supernet)
    tokens, mask = batch["input_ids"], batch["attention_mask"]
    with masked(supernet, plan) as model:
        expected = model(**batch, position_ids=positions(mask), use_cache=False).logits
    with supernet.select(plan) as model:
        if not model.config.use_cache:
            assert model(**batch).past_key_values is None
            return
        cache = DynamicCache(config=model.config)
        found = []
        for part in (slice(0, 4), slice(4, 6)):
            out = model(
                input_ids=tokens[:, part],
                attention_mask=mask[:, : part.stop],
                position_ids=positions(mask)[:, part],
                past_key_values=cache,
                use_cache=True,
            )
            found.append(out.logits)
        assert cache.get_seq_length() == 6
    seen = mask.bool()
    assert torch.allclose(torch.cat(found, 1)[seen], expected[seen], atol=1e-4)


def test_generation_settings_come_back(supernet):
    before = supernet.model.generation_config.to_dict(), supernet.model.config.to_dict()
    with supernet.select(PLANS["nothing"]) as model:
        generated(model, prompt(supernet))
    assert (supernet.model.generation_config.to_dict(), supernet.model.config.to_dict()) == before
