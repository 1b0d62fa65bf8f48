from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from secateur.checkpoints.exported import load
from secateur.errors import ExportError
from secateur.export.checkpoint import new_folder, save_checkpoint
from secateur.export.verify import padded_batch, verify
from secateur.spaces.pruning.plan import Kept, LayerPlan, Plan

ENCODERS = ["bert", "roberta", "xlm-roberta", "electra", "distilbert", "mpnet", "deberta-v2", "modernbert", "vit"]
DECODERS = ["gpt2", "opt", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi"]
FAMILIES = [*ENCODERS, *DECODERS]
GROUPED = ["llama", "mistral", "qwen3"]
EMPTY = Plan.of([])


def inputs(model):
    from secateur.testing.models import toy_batch  # brings torch: not at collection

    return toy_batch(model, labels=False) if model.main_input_name == "pixel_values" else padded_batch(model)


def check(supernet, plan, folder, form):
    assert save_checkpoint(supernet, plan, folder) == form
    model = load(folder)
    assert sum(p.numel() for p in model.parameters()) == supernet.parameters(plan)
    differences = verify(supernet, plan, model, batch=inputs(model))
    assert set(differences) == {"extracted", "reloaded"}
    return model


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["mixed", "no_attention", "empty"])
def test_carried(family, name, supernet_of, plans, heads_of, tmp_path):
    plan = EMPTY if name == "empty" else plans[name](heads_of[family]) if name == "mixed" else plans[name]()
    model = check(supernet_of(family), plan, tmp_path / "out", "carried")
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["model_type"] == f"secateur_{family}"
    assert config["architectures"] == [type(model).__name__]
    assert set(config["auto_map"].values()) == {f"modeling_secateur.{type(m).__name__}" for m in (model, model.config)}
    from secateur.anatomy import carving  # brings torch: not at collection

    assert (tmp_path / "out/modeling_secateur.py").read_text() == Path(carving.__file__).read_text()
    assert not list(tmp_path.glob(".*")), "the unfinished folder must be gone"


@pytest.mark.parametrize("family", FAMILIES)
def test_fewer_layers_are_plain(family, supernet_of, tmp_path):
    supernet = supernet_of(family)
    heads, units = supernet.shape.heads, supernet.shape.units
    plan = Plan.of([LayerPlan(i, Kept.first(heads), Kept.first(units)) for i in (0, 2)])
    model = check(supernet, plan, tmp_path / "out", "plain")
    assert model.config.num_hidden_layers == 2
    assert model.config.model_type == family
    assert not (tmp_path / "out/modeling_secateur.py").exists()


@pytest.mark.parametrize("family", FAMILIES)
def test_fewer_units_are_plain(family, supernet_of, tmp_path):
    supernet = supernet_of(family)
    check(supernet, Plan.uniform(2, supernet.shape.heads, 10), tmp_path / "out", "plain")


@pytest.mark.parametrize("family", GROUPED)
def test_fewer_head_groups_are_plain_where_head_dim_is_explicit(family, supernet_of, tmp_path):
    plan = Plan.of([LayerPlan(i, Kept.chosen([1]), Kept.chosen([0, 3, 5])) for i in (1, 2)])
    model = check(supernet_of(family), plan, tmp_path / "out", "plain")
    assert model.config.num_attention_heads == 2
    assert model.config.num_key_value_heads == 1
    assert model.config.head_dim == 4
    assert type(model).__name__ == type(supernet_of(family).model).__name__


@pytest.mark.parametrize(("family", "width"), [("qwen2", 2), ("gemma2", 4), ("gemma3_text", 4), ("phi", 4), ("vit", 4)])
def test_fewer_heads_are_plain_where_the_modelling_code_reads_their_width(family, width, supernet_of, tmp_path):
    """Also where the configuration does not declare it."""
    plan = Plan.of([LayerPlan(i, Kept.chosen([1, 3]), Kept.chosen([0, 3, 5])) for i in (1, 2)])
    supernet = supernet_of(family)
    model = check(supernet, plan, tmp_path / "out", "plain")
    assert model.config.head_dim == width
    assert model.config.num_attention_heads == supernet.model.config.num_attention_heads // 2
    assert type(model) is type(supernet.model)


def test_sizes_that_the_configuration_derives_are_carried(supernet_of, tmp_path):
    """Phi's norms of queries and keys are as wide as a head of its number of heads."""
    check(supernet_of("phi", qk_layernorm=True), Plan.uniform(2, 2, 10), tmp_path / "out", "carried")


def test_a_first_layer_that_was_not_the_first(supernet_of, tmp_path):
    """ModernBERT's first layer has no norm before attention, a later one has; DeBERTa's convolution follows its first layer."""
    later = Plan.of([LayerPlan(i, Kept.first(4), Kept.first(12)) for i in (1, 2)])
    small = check(supernet_of("modernbert"), later, tmp_path / "modernbert", "carried")
    assert len(list(small.model.layers[0].attn_norm.parameters())) == 1
    small = check(supernet_of("deberta-v2"), later, tmp_path / "deberta", "carried")
    assert small.config.num_hidden_layers == 3
    assert not list(small.deberta.encoder.layer[0].parameters())


def test_sizes_that_the_family_itself_refuses_are_carried(supernet_of, tmp_path):
    """Llama wants its width to be a multiple of the number of heads: 32 is none of 6."""
    sizes = {"hidden_size": 32, "num_attention_heads": 8, "num_key_value_heads": 4}
    check(supernet_of("llama", **sizes), Plan.uniform(2, 3, 10), tmp_path / "llama", "carried")
    check(supernet_of("qwen3", **sizes), Plan.uniform(2, 3, 10), tmp_path / "qwen3", "plain")


def test_layer_types_follow_their_layers(supernet_of, tmp_path):
    types = ["full_attention", "sliding_attention", "full_attention"]
    supernet = supernet_of("qwen3", layer_types=types, use_sliding_window=True, sliding_window=3)
    plan = Plan.of([LayerPlan(i, Kept.first(1), Kept.first(9)) for i in (1, 2)])
    model = check(supernet, plan, tmp_path / "plain", "plain")
    assert list(model.config.layer_types) == ["sliding_attention", "full_attention"]
    plan = Plan.of([LayerPlan(1, Kept.first(0), Kept.first(9)), LayerPlan(2, Kept.first(1), Kept.first(9))])
    model = check(supernet, plan, tmp_path / "carried", "carried")
    assert not model.generation_config.use_cache, "a cache typed by place would be wrong here"


def test_attention_scaled_by_place(supernet_of, tmp_path):
    supernet = supernet_of("gpt2", scale_attn_by_inverse_layer_idx=True)
    check(supernet, Plan.uniform(2, 4, 64), tmp_path / "first", "plain")
    check(supernet, Plan.of([LayerPlan(2, Kept.first(4), Kept.first(64))]), tmp_path / "last", "carried")


@pytest.mark.parametrize("class_name", ["BertForMultipleChoice", "BertForMaskedLM"])
def test_other_heads_of_bert(class_name, supernet_of, plans, tmp_path):
    supernet = supernet_of("bert", class_name)
    save_checkpoint(supernet, plans["mixed"](), tmp_path / "out")
    model = load(tmp_path / "out")
    kind = "multiple_choice" if "Choice" in class_name else "language_modelling"
    verify(supernet, plans["mixed"](), model, batch=padded_batch(model, kind, token_types=True))
    assert class_name.removeprefix("Bert") in json.dumps(model.config.auto_map)


@pytest.mark.parametrize("family", DECODERS)
@pytest.mark.parametrize("name", ["mixed", "no_attention"])
def test_generate_agrees_with_and_without_cache(family, name, supernet_of, plans, heads_of, tmp_path):
    import torch

    plan = plans[name](heads_of[family]) if name == "mixed" else plans[name]()
    save_checkpoint(supernet_of(family), plan, tmp_path / "out")
    model = load(tmp_path / "out")
    # A cache typed by place would be wrong where layers of one kind of attention have lost it.
    assert model.generation_config.use_cache == (name == "mixed" and not family.startswith("gemma"))
    ids = torch.randint(3, 40, (2, 6), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[1, :3] = 0  # left padding
    options = {"max_new_tokens": 5, "do_sample": False, "attention_mask": mask, "eos_token_id": None}
    with_cache = model.generate(ids, **options)
    without = model.generate(ids, use_cache=False, **options)
    assert with_cache.shape == (2, 11)
    assert torch.equal(with_cache, without)


def test_tied_weights_stay_tied(supernet_of, plans, tmp_path):
    for family, head in (("gpt2", "lm_head"), ("llama", "lm_head")):
        save_checkpoint(supernet_of(family), plans["mixed"](4 if family == "gpt2" else 2), tmp_path / family)
        model = load(tmp_path / family)
        assert model.get_submodule(head).weight is model.get_input_embeddings().weight


def test_a_polished_model_is_what_is_saved(supernet_of, plans, tmp_path):
    import torch

    supernet, plan = supernet_of("bert"), plans["mixed"]()
    polished = supernet.extract(plan)
    with torch.no_grad():
        polished.classifier.bias.add_(3.0)
    save_checkpoint(supernet, plan, tmp_path / "out", model=polished)
    model = load(tmp_path / "out")
    batch = padded_batch(model)
    assert verify(supernet, plan, model, extracted=polished, polished=True, batch=batch)["reloaded"] <= 1e-5
    with pytest.raises(ExportError, match="extracted network's outputs differ"):
        verify(supernet, plan, model, extracted=polished, batch=batch)
    with pytest.raises(ExportError, match="reloaded network's outputs differ"):
        verify(supernet, plan, model, batch=batch)


def test_a_model_of_other_sizes_is_refused(supernet_of, plans, tmp_path):
    supernet = supernet_of("bert")
    with pytest.raises(ExportError, match="does not match the plan"):
        save_checkpoint(supernet, plans["mixed"](), tmp_path / "out", model=supernet.extract(Plan.uniform(3, 2, 24)))
    assert not list(tmp_path.iterdir())


def test_reloaded_models_save_themselves_again(supernet_of, plans, tmp_path):
    supernet, plan = supernet_of("gpt2"), plans["mixed"]()
    save_checkpoint(supernet, plan, tmp_path / "one")
    load(tmp_path / "one").save_pretrained(tmp_path / "two")
    assert {f.name for f in (tmp_path / "one").iterdir()} == {f.name for f in (tmp_path / "two").iterdir()}
    verify(supernet, plan, load(tmp_path / "two"), batch=padded_batch(supernet.model))


@pytest.mark.parametrize("family", GROUPED)
def test_classifiers_that_build_their_base_through_an_auto_class(family, supernet_of, plans, tmp_path):
    name = type(supernet_of(family).model).__name__.replace("ForCausalLM", "ForSequenceClassification")
    check(supernet_of(family, name), plans["mixed"](2), tmp_path / "out", "carried")


def test_a_class_that_transformers_does_not_know(plans, tmp_path):
    from transformers import BertForSequenceClassification

    from secateur.supernet.supernet import Supernet

    class Mine(BertForSequenceClassification):
        pass

    from transformers import BertConfig

    model = Mine(BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=4, intermediate_size=24))
    with pytest.raises(ExportError, match="only classes of transformers"):
        save_checkpoint(Supernet(model), plans["mixed"](), tmp_path / "out")


def test_a_class_that_no_auto_class_loads(supernet_of, plans, tmp_path):
    with pytest.raises(ExportError, match="no Auto class"):
        save_checkpoint(supernet_of("bert", "BertForPreTraining"), plans["mixed"](), tmp_path / "out")


def test_the_folder_must_be_new_or_empty(supernet_of, plans, tmp_path):
    (tmp_path / "empty").mkdir()
    save_checkpoint(supernet_of("bert"), plans["mixed"](), tmp_path / "empty")
    with pytest.raises(ExportError, match="already exists"):
        save_checkpoint(supernet_of("bert"), plans["mixed"](), tmp_path / "empty")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ExportError, match="already exists"):
        save_checkpoint(supernet_of("bert"), plans["mixed"](), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "x"), RuntimeError(f"I/O error: {os.strerror(errno.ENOSPC)} (os error 28)")]
)
def test_a_full_disk_leaves_nothing(error, tmp_path):
    with pytest.raises(ExportError, match="could not be written: the disk is full") as caught:
        fail_inside(tmp_path / "a", error)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_other_errors_pass_and_leave_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fail_inside(tmp_path / "deep/er", KeyboardInterrupt())
    assert not list((tmp_path / "deep").iterdir())


def fail_inside(folder, error):
    with new_folder(folder) as unfinished:
        (unfinished / "half").write_text("…")
        raise error
