"""Every known family passes the contract, and 'zero' means what the design says it means."""

from __future__ import annotations

import pytest
import torch

from secateur.anatomy import ANATOMIES
from secateur.spaces.pruning import Plan
from secateur.supernet import Supernet
from secateur.testing.anatomies import AnatomyContract
from secateur.testing.models import FAMILIES, VISION, toy_batch, toy_model

#: family, kind of head, attention, padding, and settings. A new family is one line here.
MODELS = [
    ("bert", "classification", "sdpa", "right", {}),
    ("bert", "multiple_choice", "eager", "right", {}),
    ("roberta", "regression", "sdpa", "right", {}),
    ("roberta", "classification", "eager", "right", {}),
    ("xlm-roberta", "classification", "sdpa", "right", {}),
    ("electra", "classification", "sdpa", "right", {}),
    ("electra", "multiple_choice", "eager", "right", {}),
    ("distilbert", "classification", "sdpa", "right", {}),
    ("distilbert", "regression", "eager", "right", {}),
    ("mpnet", "classification", "eager", "right", {}),
    ("mpnet", "multiple_choice", "eager", "right", {}),
    ("deberta-v2", "classification", "eager", "right", {}),  # as v2-xlarge: with a convolution
    ("deberta-v2", "regression", "eager", "right", {"conv_kernel_size": 0, "position_buckets": -1}),  # v3 has none
    ("deberta-v2", "classification", "eager", "right", {"share_att_key": False, "pos_att_type": ["c2p"]}),
    ("deberta-v2", "multiple_choice", "eager", "right", {"relative_attention": False, "position_biased_input": True}),
    ("modernbert", "classification", "sdpa", "right", {}),
    ("modernbert", "multiple_choice", "eager", "right", {"attention_bias": True, "mlp_bias": True, "norm_bias": True}),
    ("vit", "image_classification", "sdpa", None, {}),
    ("vit", "image_classification", "eager", None, {"qkv_bias": False, "image_size": [8, 12]}),
    ("gpt2", "causal", "sdpa", "left", {}),
    ("gpt2", "classification", "eager", "right", {}),
    ("opt", "causal", "sdpa", "left", {}),
    ("opt", "classification", "eager", "right", {"do_layer_norm_before": False}),  # as 350m
    ("gpt_neox", "causal", "sdpa", "left", {}),
    ("gpt_neox", "classification", "eager", "right", {"use_parallel_residual": False}),
    ("llama", "causal", "sdpa", "left", {}),
    ("llama", "causal", "sdpa", "right", {"tie_word_embeddings": True}),  # as SmolLM
    ("llama", "classification", "eager", "right", {}),
    ("mistral", "causal", "eager", "right", {}),
    ("mistral", "classification", "sdpa", "right", {}),
    ("qwen2", "causal", "sdpa", "left", {}),
    ("qwen2", "classification", "eager", "right", {}),
    ("qwen3", "causal", "sdpa", "right", {}),
    ("qwen3", "causal", "eager", "left", {}),
    ("gemma2", "causal", "eager", "left", {}),
    ("gemma2", "classification", "sdpa", "right", {}),
    ("gemma3_text", "causal", "sdpa", "left", {}),
    ("gemma3_text", "classification", "eager", "right", {}),
    ("phi", "causal", "sdpa", "left", {}),
    ("phi", "classification", "eager", "right", {"qk_layernorm": True}),
]


@pytest.mark.parametrize("described", MODELS, ids=lambda d: "-".join([*map(str, d[:4]), *d[4]]))
class TestFamilies(AnatomyContract):
    @pytest.fixture
    def supernet(self, described):
        family, kind, attention, _, settings = described
        return Supernet(toy_model(family, kind, attention=attention, **settings))

    @pytest.fixture
    def batch(self, supernet, described):
        return toy_batch(supernet.model, padding=described[3])


def test_every_family_is_in_the_list():
    assert set(ANATOMIES) == {*FAMILIES, *VISION} == {family for family, *_ in MODELS}


# The meaning of zero, written out by hand: x → what one layer without attention (or without feed-forward) makes of it.


def bert_feed_forward(layer, x, given):
    return layer.output.LayerNorm(x + layer.output.dense(layer.intermediate.intermediate_act_fn(layer.intermediate.dense(x))))


def bert_attention(layer, x, given):
    return layer.attention.output.LayerNorm(x + layer.attention.output.dense(layer.attention.self(x, **given)[0]))


def pre_norm(norm, module):
    """x + module(norm(x)), by their names in the layer."""

    def made(layer, x, given):
        attention = given if module in ("attn", "attention", "self_attn") else {}
        output = layer.get_submodule(module)(layer.get_submodule(norm)(x), **attention)
        return x + (output[0] if isinstance(output, tuple) else output)

    return made


def opt_feed_forward(layer, x, given):
    return x + layer.fc2(torch.relu(layer.fc1(layer.final_layer_norm(x))))


def mpnet_attention(layer, x, given):
    return layer.attention.LayerNorm(x + layer.attention.attn(x, **given)[0])


def gemma_attention(layer, x, given):
    return x + layer.post_attention_layernorm(layer.self_attn(layer.input_layernorm(x), **given)[0])


def gemma_feed_forward(layer, x, given):
    return x + layer.post_feedforward_layernorm(layer.mlp(layer.pre_feedforward_layernorm(x)))


#: family → what is left without heads, and without units.
BERT = bert_feed_forward, bert_attention
LLAMA = pre_norm("post_attention_layernorm", "mlp"), pre_norm("input_layernorm", "self_attn")
GEMMA = gemma_feed_forward, gemma_attention
LEFT = {
    "bert": BERT,
    "roberta": BERT,
    "xlm-roberta": BERT,
    "electra": BERT,
    "distilbert": (
        lambda layer, x, given: layer.output_layer_norm(x + layer.ffn(x)),
        lambda layer, x, given: layer.sa_layer_norm(x + layer.attention(x)[0]),
    ),
    "mpnet": (bert_feed_forward, mpnet_attention),
    "deberta-v2": BERT,
    "modernbert": (pre_norm("mlp_norm", "mlp"), pre_norm("attn_norm", "attn")),
    "vit": (pre_norm("layernorm_after", "mlp"), pre_norm("layernorm_before", "attention")),
    "gpt2": (pre_norm("ln_2", "mlp"), pre_norm("ln_1", "attn")),
    "opt": (opt_feed_forward, pre_norm("self_attn_layer_norm", "self_attn")),
    "gpt_neox": (pre_norm("post_attention_layernorm", "mlp"), pre_norm("input_layernorm", "attention")),
    "llama": LLAMA,
    "mistral": LLAMA,
    "qwen2": LLAMA,
    "qwen3": LLAMA,
    "gemma2": GEMMA,
    "gemma3_text": GEMMA,
    "phi": (pre_norm("input_layernorm", "mlp"), pre_norm("input_layernorm", "self_attn")),  # one norm, shared: it stays
}


def arguments(supernet, x):
    """What the model hands to its layers beside the states."""
    base, places = supernet.base, torch.arange(x.shape[1])[None]
    if supernet.anatomy.family == "mpnet":
        return {"position_bias": base.encoder.compute_position_bias(x)}
    if supernet.anatomy.family == "deberta-v2":
        return {"attention_mask": torch.ones(2, 1, 5, 5), "rel_embeddings": base.encoder.get_rel_embedding()}
    if not hasattr(base, "rotary_emb"):
        return {}
    kinds = [supernet.model.config.layer_types[0]] if supernet.anatomy.family in ("modernbert", "gemma3_text") else []
    return {"position_embeddings": base.rotary_emb(x, places, *kinds), "attention_mask": None}


@pytest.mark.parametrize("family", [*FAMILIES, *VISION])
@pytest.mark.parametrize("missing", ["heads", "units"])
@torch.no_grad()
def test_zero_removes_the_sub_layer_and_its_normalisation(family, missing):
    supernet = Supernet(toy_model(family, layers=1))
    x = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))
    given = arguments(supernet, x)
    expected = LEFT[family][missing == "units"](supernet.layers[0], x, given)
    plan = Plan.uniform(1, 0, supernet.shape.units) if missing == "heads" else Plan.uniform(1, supernet.shape.heads, 0)
    with supernet.select(plan):
        found = supernet.base.get_submodule(supernet.anatomy.layers)[0](x, **given)
    assert torch.allclose(found[0] if isinstance(found, tuple) else found, expected, atol=1e-6)


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
    changed["input_ids"][:, 3] += 1  # no layer mixes tokens: only the summarised one counts (and those beside it, in DeBERTa)
    changed["input_ids"].clamp_(max=49)
    small = supernet.extract(nothing)
    assert torch.equal(small(**changed).logits[0], logits[0])
