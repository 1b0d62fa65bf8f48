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
from secateur.testing.models import FAMILIES, VISION, randomise, toy_batch, toy_model


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
    model.config.model_type = "fnet"
    with pytest.raises(ModelError, match="unknown model family `fnet`"):
        Supernet(model)


@pytest.mark.parametrize(("family", "why"), [("albert", "one and the same"), ("t5", "two stacks"), ("gemma3", "`gemma3_text`")])
def test_a_family_that_cannot_be_pruned_is_refused_with_the_reason(family, why):
    assert family not in ANATOMIES
    with pytest.raises(ModelError, match=f"`{family}` cannot be pruned: .*{why}") as caught:
        anatomy_of(Config(family))
    assert "\n" not in str(caught.value)


def test_the_reasons_hold():
    """ALBERT has one layer's weights however many layers it has; only the first T5 layer of a stack has a position bias."""
    from transformers import AlbertConfig, AlbertModel, T5Config, T5Model

    sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "embedding_size": 8, "vocab_size": 9}
    one, three = (sum(p.numel() for p in AlbertModel(AlbertConfig(num_hidden_layers=n, **sizes)).parameters()) for n in (1, 3))
    assert one == three
    model = T5Model(T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=3, num_heads=2))
    biases = [name for name, _ in model.named_parameters() if "relative_attention_bias" in name]
    assert [name.split(".layer")[0] for name in biases] == ["encoder.block.0", "decoder.block.0"]


def test_another_layout_of_a_known_family_is_told(monkeypatch):
    moved = dataclasses.replace(ANATOMIES["bert"], layers="encoder.blocks")
    monkeypatch.setattr("secateur.anatomy.ANATOMIES", {"bert": moved})
    with pytest.raises(ModelError, match=r"has no `encoder\.blocks`, where the family `bert` keeps it") as caught:
        Supernet(toy_model("bert"))
    assert "\n" not in str(caught.value)


def test_a_pruned_model_is_not_pruned_again():
    with pytest.raises(ModelError, match="already been pruned by Secateur"):
        anatomy_of(Config("secateur_bert"))


@pytest.mark.parametrize("family", [*FAMILIES, *VISION])
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


# A family that Secateur does not know: Granite is Llama with factors on embeddings, attention, residuals and logits.

GRANITE = Anatomy(
    family="granite",
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


def granite():
    from transformers import GraniteConfig, GraniteForCausalLM

    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 12,
        "residual_multiplier": 0.5,
        "attention_multiplier": 0.7,
    }
    model = GraniteForCausalLM(GraniteConfig(vocab_size=50, max_position_embeddings=64, pad_token_id=0, **sizes))
    randomise(model)
    return model.eval()


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr("secateur.anatomy.ANATOMIES", dict(ANATOMIES))
    register(GRANITE)


class TestRegistered(AnatomyContract):
    @pytest.fixture
    def supernet(self, registered):
        return Supernet(granite())

    @pytest.fixture
    def batch(self, supernet):
        return toy_batch(supernet.model)


def test_before_it_is_registered_it_is_unknown():
    with pytest.raises(ModelError, match="unknown model family `granite`"):
        Supernet(granite())


@pytest.mark.parametrize(
    "mistake",
    [
        {"cuts": GRANITE.cuts[:4] + GRANITE.cuts[5:]},  # the gate does not shrink
        {"without_heads": (("self_attn", "Identity"),)},
    ],
)
def test_the_contract_catches_a_wrong_table(monkeypatch, mistake):
    monkeypatch.setattr("secateur.anatomy.ANATOMIES", dict(ANATOMIES))
    register(dataclasses.replace(GRANITE, **mistake))
    supernet = Supernet(granite())
    with pytest.raises((AssertionError, RuntimeError, ValueError, AttributeError, TypeError)):
        AnatomyContract().test_select_extract_and_masks_agree(supernet, toy_batch(supernet.model))
    assert isinstance(supernet.base.layers, torch.nn.ModuleList)
