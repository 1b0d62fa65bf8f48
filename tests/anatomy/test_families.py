"""Every known family passes the contract, and 'zero' means what the design says it means."""

from __future__ import annotations

import pytest
import torch

from secateur.anatomy import ANATOMIES
from secateur.spaces.pruning import Plan
from secateur.supernet import Supernet
from secateur.testing.anatomies import AnatomyContract
from secateur.testing.models import FAMILIES, toy_batch, toy_model

#: family, kind of head, attention, padding. A new family is one line here.
MODELS = [
    ("bert", "classification", "sdpa", "right"),
    ("bert", "multiple_choice", "eager", "right"),
    ("roberta", "regression", "sdpa", "right"),
    ("roberta", "classification", "eager", "right"),
    ("distilbert", "classification", "sdpa", "right"),
    ("distilbert", "regression", "eager", "right"),
    ("gpt2", "causal", "sdpa", "left"),
    ("gpt2", "classification", "eager", "right"),
    ("llama", "causal", "sdpa", "left"),
    ("llama", "classification", "eager", "right"),
    ("mistral", "causal", "eager", "right"),
    ("mistral", "classification", "sdpa", "right"),
    ("qwen3", "causal", "sdpa", "right"),
    ("qwen3", "causal", "eager", "left"),
]


@pytest.mark.parametrize("described", MODELS, ids="-".join)
class TestFamilies(AnatomyContract):
    @pytest.fixture
    def supernet(self, described):
        family, kind, attention, _ = described
        return Supernet(toy_model(family, kind, attention=attention))

    @pytest.fixture
    def batch(self, supernet, described):
        return toy_batch(supernet.model, padding=described[3])


def test_every_family_is_in_the_list():
    assert set(ANATOMIES) == set(FAMILIES) == {family for family, *_ in MODELS}


# The meaning of zero, written out by hand: x → what one layer without attention (or without feed-forward) makes of it.


def bert_feed_forward(layer, x):
    return layer.output.LayerNorm(x + layer.output.dense(layer.intermediate.intermediate_act_fn(layer.intermediate.dense(x))))


def bert_attention(layer, x):
    return layer.attention.output.LayerNorm(x + layer.attention.output.dense(layer.attention.self(x)[0]))


def llama_attention(layer, x, rotary):
    return x + layer.self_attn(layer.input_layernorm(x), position_embeddings=rotary, attention_mask=None)[0]


NO_HEADS = {
    "bert": bert_feed_forward,
    "roberta": bert_feed_forward,
    "distilbert": lambda layer, x: layer.output_layer_norm(x + layer.ffn(x)),
    "gpt2": lambda layer, x: x + layer.mlp(layer.ln_2(x)),
    "llama": lambda layer, x: x + layer.mlp(layer.post_attention_layernorm(x)),
}
NO_UNITS = {
    "bert": bert_attention,
    "roberta": bert_attention,
    "distilbert": lambda layer, x: layer.sa_layer_norm(x + layer.attention(x)[0]),
    "gpt2": lambda layer, x: x + layer.attn(layer.ln_1(x))[0],
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("missing", ["heads", "units"])
@torch.no_grad()
def test_zero_removes_the_sub_layer_and_its_normalisation(family, missing):
    supernet = Supernet(toy_model(family, layers=1))
    x = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))
    layer = supernet.layers[0]
    given = {}
    if family in ("llama", "mistral", "qwen3"):
        given["position_embeddings"] = supernet.base.rotary_emb(x, torch.arange(5)[None])
        by_hand = {
            "heads": NO_HEADS["llama"],
            "units": lambda layer, x: llama_attention(layer, x, given["position_embeddings"]),
        }
    else:
        by_hand = {"heads": NO_HEADS[family], "units": NO_UNITS[family]}
    expected = by_hand[missing](layer, x)
    plan = Plan.uniform(1, 0, supernet.shape.units) if missing == "heads" else Plan.uniform(1, supernet.shape.heads, 0)
    with supernet.select(plan):
        ghost = supernet.base.get_submodule(supernet.anatomy.layers)[0]
        assert torch.allclose(ghost(x, **given), expected, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_the_empty_plan_leaves_embeddings_and_head(family):
    supernet = Supernet(toy_model(family))
    batch = toy_batch(supernet.model)
    nothing = Plan.of([])
    assert supernet.body_parameters(nothing) == 0
    logits = supernet.extract(nothing)(**batch).logits
    with supernet.select(nothing) as model:
        assert torch.equal(model(**batch).logits, logits)
    changed = {**batch, "input_ids": batch["input_ids"].clone()}
    changed["input_ids"][:, 1] += 1  # no layer mixes tokens: only the summarised token counts
    changed["input_ids"].clamp_(max=49)
    small = supernet.extract(nothing)
    assert torch.equal(small(**changed).logits[0], logits[0])
