"""Known families are found, unknown ones get help, and a new one is registered and passes the contract."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from secateur.anatomy import ANATOMIES, Anatomy, Cut, anatomy_of, register
from secateur.errors import ModelError
from secateur.spaces.pruning import Kept, LayerPlan, Plan, Shape
from secateur.supernet import Supernet
from secateur.testing.anatomies import AnatomyContract
from secateur.testing.models import FAMILIES, randomise, toy_batch, toy_model


class Config:
    def __init__(self, model_type):
        self.model_type = model_type


def test_an_unknown_family_is_told_what_to_do():
    with pytest.raises(ModelError) as caught:
        anatomy_of(Config("mamba"))
    message = str(caught.value)
    assert "`mamba`" in message
    assert "docs/how-to/own-model-family.md" in message
    assert all(family in message for family in FAMILIES)


def test_a_supernet_of_an_unknown_family_is_refused():
    model = toy_model("bert")
    model.config.model_type = "albert"
    with pytest.raises(ModelError, match="unknown model family `albert`"):
        Supernet(model)


def test_a_pruned_model_is_not_pruned_again():
    with pytest.raises(ModelError, match="already been pruned by Secateur"):
        anatomy_of(Config("secateur_bert"))


@pytest.mark.parametrize("family", FAMILIES)
def test_known_families_have_their_shape(family):
    config = toy_model(family, layers=2).config
    assert anatomy_of(config).shape(config) == Shape(layers=2, heads=4, units=12)


def test_gpt2_without_an_inner_width_has_four_times_its_width():
    config = toy_model("gpt2", n_inner=None).config
    assert anatomy_of(config).shape(config).units == 64


def test_the_output_is_where_heads_and_units_come_back():
    assert ANATOMIES["bert"].output("heads") == Cut("attention.output.dense", "in", "heads")
    assert ANATOMIES["llama"].output("units").module == "mlp.down_proj"


def test_a_plan_is_described_as_plain_data():
    plan = Plan.of([LayerPlan(1, Kept.chosen([0, 2]), Kept.first(5))])
    described = ANATOMIES["distilbert"].describe(plan, Shape(3, 4, 12))
    assert described["layers"] == [{"index": 1, "heads": 2, "units": 5}]
    assert described["full"] == {"heads": 4, "units": 12}
    assert described["stack"] == "transformer.layer"
    assert ["attention.out_lin", "in", "heads"] in described["cuts"]
    assert described["without"]["units"] == [["ffn", "NoFeedForward"], ["output_layer_norm", "Identity"]]


# A family that Secateur does not know: Qwen2 has biases on its queries, keys and values.

QWEN2 = Anatomy(
    family="qwen2",
    layers="layers",
    cuts=(
        Cut("self_attn.q_proj", "out", "heads"),
        Cut("self_attn.k_proj", "out", "heads"),
        Cut("self_attn.v_proj", "out", "heads"),
        Cut("self_attn.o_proj", "in", "heads"),
        Cut("mlp.gate_proj", "out", "units"),
        Cut("mlp.up_proj", "out", "units"),
        Cut("mlp.down_proj", "in", "units"),
    ),
    scaled=(),
    without_heads=(("self_attn", "NoAttention"), ("input_layernorm", "Identity")),
    without_units=(("mlp", "NoFeedForward"), ("post_attention_layernorm", "Identity")),
    groups_field="num_key_value_heads",
)


def qwen2():
    from transformers import Qwen2Config, Qwen2ForCausalLM

    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 12,
    }
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=50, max_position_embeddings=64, pad_token_id=0, **sizes))
    randomise(model)
    return model.eval()


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr("secateur.anatomy.ANATOMIES", dict(ANATOMIES))
    register(QWEN2)


class TestRegistered(AnatomyContract):
    @pytest.fixture
    def supernet(self, registered):
        return Supernet(qwen2())

    @pytest.fixture
    def batch(self, supernet):
        return toy_batch(supernet.model)


def test_before_it_is_registered_it_is_unknown():
    with pytest.raises(ModelError, match="unknown model family `qwen2`"):
        Supernet(qwen2())


@pytest.mark.parametrize(
    "mistake",
    [
        {"cuts": QWEN2.cuts[:4] + QWEN2.cuts[5:]},  # the gate does not shrink
        {"without_heads": (("self_attn", "Identity"),)},
    ],
)
def test_the_contract_catches_a_wrong_table(monkeypatch, mistake):
    monkeypatch.setattr("secateur.anatomy.ANATOMIES", dict(ANATOMIES))
    register(dataclasses.replace(QWEN2, **mistake))
    supernet = Supernet(qwen2())
    with pytest.raises((AssertionError, RuntimeError, ValueError, AttributeError, TypeError)):
        AnatomyContract().test_select_extract_and_masks_agree(supernet, toy_batch(supernet.model))
    assert isinstance(supernet.base.layers, torch.nn.ModuleList)
