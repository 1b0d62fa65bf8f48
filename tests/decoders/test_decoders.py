"""Architecture ↔ configuration ↔ network: counts, seeds, saving, loading without Secateur, ONNX."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from secateur import decoders
from secateur.architecture import Architecture
from secateur.checkpoints.exported import load
from secateur.decoders import Sizes
from secateur.decoders.gpt2 import DecoderGpt2Config
from secateur.decoders.transformer_xl import DecoderXlConfig
from secateur.errors import ConfigurationError, ModelError, UnknownNameError
from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_counts import decoder_parameters, parameters

WORDS = 60
BOTH = pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])


def count(modules):
    return sum(p.numel() for module in modules for p in module.parameters())


@st.composite
def architectures(draw):
    width = draw(st.sampled_from([8, 16, 24]))
    layers = draw(st.integers(1, 3))
    heads = draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=layers, max_size=layers))
    inner = draw(st.lists(st.integers(1, 70), min_size=layers, max_size=layers))
    embedding, factor = draw(st.sampled_from([0, 3, 8, 16, 24])), draw(st.sampled_from([1, 2, 4]))
    return architecture(draw(st.sampled_from(["gpt2", "transformer_xl"])), width, heads, inner, embedding, factor)


@settings(max_examples=30)
@given(architectures(), st.integers(3, 90), st.integers(1, 40), st.data())
def test_the_closed_forms_are_the_built_counts(arch, vocabulary, positions, data):
    cutoffs = data.draw(st.none() | st.sets(st.integers(1, vocabulary - 1), max_size=3).map(sorted))
    sizes = Sizes(vocabulary=vocabulary, cutoffs=cutoffs, positions=positions)
    network = decoders.Builder(sizes).meta(arch)
    assert count(network.decoder_modules()) == decoder_parameters(arch)
    assert count([network]) == parameters(arch, sizes)
    assert decoders.architecture_of(network.config) == arch


@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
def test_the_closed_forms_hold_for_a_large_vocabulary_with_default_cutoffs(backbone):
    arch = architecture(backbone, 192, [2, 8], [384, 512], 128, 4)
    network = decoders.Builder(Sizes(vocabulary=267_735)).meta(arch)
    assert count([network]) == parameters(arch, Sizes(vocabulary=267_735))
    assert len(network.config.cutoffs) > 1


@BOTH
def test_seeds_are_repeatable_and_the_global_state_is_left_alone(backbone, monkeypatch):
    arch = architecture(backbone, 16, [2, 4], [32, 48], 8, 2)
    build = lambda seed: decoders.build(arch, Sizes(vocabulary=WORDS, cutoffs=(10,)), seed=seed).state_dict()  # noqa: E731
    torch.manual_seed(5)
    before = torch.get_rng_state()
    with monkeypatch.context() as patch:
        patch.setattr(torch.cuda, "manual_seed_all", lambda seed: pytest.fail("the GPUs' generators were seeded"))
        first = build(1)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    again, other = build(1), build(2)
    assert all(torch.equal(first[name], again[name]) for name in first)
    weight = "transformer.h.0.attn.c_attn.weight" if backbone == "gpt2" else "transformer.layers.0.attention.q.weight"
    assert not torch.equal(first[weight], other[weight])


CHILD = """
import importlib.util, json, sys, torch
from transformers import AutoModelForCausalLM
assert importlib.util.find_spec("secateur") is None
from transformers.utils import logging
logging.set_verbosity_error()
for backbone in ("gpt2", "transformer_xl"):
    model = AutoModelForCausalLM.from_pretrained(f"{sys.argv[1]}/{backbone}", trust_remote_code=True).eval()
    ids = torch.arange(14).view(2, 7)
    assert model.generate(ids, max_new_tokens=3, do_sample=False, pad_token_id=0).shape == (2, 10)
    model.save_pretrained(f"{sys.argv[1]}/{backbone}-again")
    print(json.dumps(model(ids).logits.tolist()))
"""


@pytest.mark.slow
def test_saved_folders_load_without_secateur_and_with(tmp_path):
    ids = torch.arange(14).view(2, 7)
    built = {}
    for backbone in ("gpt2", "transformer_xl"):
        arch = architecture(backbone, 16, [2, 4], [32, 48], 8, 2)
        network = built[backbone] = decoders.build(arch, Sizes(vocabulary=WORDS, cutoffs=(10, 30), positions=32, recurrence=4))
        network.save_pretrained(tmp_path / backbone)

    # The child sees the libraries but no Secateur: neither the checkout nor what installed it into the environment.
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for entry in Path(torch.__file__).parents[1].iterdir():
        if "secateur" not in entry.name.lower() and entry.suffix != ".pth":
            (libraries / entry.name).symlink_to(entry)
    environment = {**os.environ, "PYTHONPATH": str(libraries), "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-S", "-c", CHILD, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr

    import secateur.auto  # noqa: F401

    for (backbone, network), line in zip(built.items(), done.stdout.splitlines()[-2:], strict=True):
        logits = network(ids).logits
        torch.testing.assert_close(torch.tensor(json.loads(line)), logits, atol=1e-6, rtol=0)
        for folder in (backbone, f"{backbone}-again"):  # what was saved without Secateur loads here too
            torch.testing.assert_close(load(tmp_path / folder)(ids).logits, logits)
            plain = AutoModelForCausalLM.from_pretrained(tmp_path / folder)
            assert type(plain) is type(network)
            assert decoders.architecture_of(plain.config) == decoders.architecture_of(network.config)
            torch.testing.assert_close(plain(ids).logits, logits)


@BOTH
@pytest.mark.parametrize("sizes", [(0, 1), (8, 1)], ids=["plain", "narrow table"])
def test_tied_and_untied_tables_survive_saving(backbone, sizes, tmp_path):
    ids = torch.arange(14).view(2, 7)
    for tie in (True, False):
        network = decoders.build(architecture(backbone, 16, [2], [32], *sizes), Sizes(vocabulary=WORDS), tie=tie)
        network.save_pretrained(tmp_path / str(tie))
        found = load(tmp_path / str(tie))
        assert count([found]) == count([network])
        torch.testing.assert_close(found(ids).logits, network(ids).logits)


def test_a_checkpoint_that_calls_its_recurrence_memory_loads(tmp_path):
    arch = architecture("transformer_xl", 16, [2], [32])
    decoders.build(arch, Sizes(vocabulary=WORDS, recurrence=5)).save_pretrained(tmp_path)
    said = json.loads((tmp_path / "config.json").read_text())
    said["memory"] = said.pop("recurrence")
    (tmp_path / "config.json").write_text(json.dumps(said))
    network = load(tmp_path)
    assert network.config.recurrence == 5
    assert "memory" not in network.config.to_dict()
    assert network(torch.arange(14).view(2, 7)).mems[0].shape == (2, 5, 16)


def test_a_folder_that_names_another_class_is_refused(tmp_path):
    decoders.build(architecture("gpt2", 16, [2], [32]), Sizes(vocabulary=WORDS)).save_pretrained(tmp_path)
    said = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**said, "architectures": ["DecoderXlForCausalLM"]}))
    with pytest.raises(ModelError, match="unknown class `DecoderXlForCausalLM`"):
        load(tmp_path)


@pytest.mark.slow
@BOTH
def test_exports_to_onnx(backbone, tmp_path):
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    from secateur.export.onnx import export_onnx, run_onnx

    network = decoders.build(
        architecture(backbone, 16, [2, 4], [32, 48], 8, 2),
        Sizes(vocabulary=WORDS, cutoffs=(10, 30), positions=32, recurrence=4),
    )
    file = export_onnx(network, tmp_path, kind="language_modelling")
    for batch, length in ((1, 5), (3, 11)):
        ids = torch.randint(WORDS, (batch, length), generator=torch.Generator().manual_seed(length))
        mask = torch.ones_like(ids)
        mask[0, :2] = 0
        expected = network(ids, attention_mask=mask).logits[mask == 1]
        found = torch.from_numpy(run_onnx(file, {"input_ids": ids, "attention_mask": mask}))[mask == 1]
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


@BOTH
def test_a_builders_network_has_weights_of_its_own_region(backbone):
    builder = decoders.Builder(Sizes(vocabulary=WORDS, cutoffs=(10, 30), positions=32))
    small, large = architecture(backbone, 16, [2], [32], 8, 2), architecture(backbone, 24, [2, 4, 8], [64, 48, 96])
    for arch in (small, large, small):
        network = builder(arch)
        spans = sorted((p.data_ptr(), p.data_ptr() + 4 * p.numel()) for p in network.parameters())
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
        values = torch.cat([p.flatten() for p in network.parameters()])
        assert float(values.std()) == pytest.approx(0.02, rel=0.1)
        assert not any(p.is_meta or p.requires_grad for p in network.parameters())
        assert count([network]) == parameters(arch, builder.sizes)
        assert torch.isfinite(network(torch.arange(14).view(2, 7)).logits).all()
    first, second = builder(large), builder(large)
    assert next(first.parameters()).data_ptr() == next(second.parameters()).data_ptr()  # one buffer for all
    tied = builder(large)
    embedding = tied.get_input_embeddings().weight
    assert tied.lm_head.weight is embedding


def test_a_builder_can_use_another_precision():
    builder = decoders.Builder(Sizes(vocabulary=WORDS, positions=32), dtype=torch.bfloat16)
    network = builder(architecture("gpt2", 16, [2], [32]))
    assert {p.dtype for p in network.parameters()} == {torch.bfloat16}
    assert network(torch.arange(14).view(2, 7)).logits.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("fault", "sizes"),
    [
        ("one entry per layer", {"heads": [2, 2], "inner": [8]}),
        ("one entry per layer", {"heads": [], "inner": []}),
        ("must be at least 1", {"inner": [0, 8]}),
        ("must divide `width` 128, got 3", {"heads": [2, 3]}),
        ("`factor` must be at least 1", {"factor": 2}),
        ("`factor` must be at least 1", {"embedding": 8, "factor": 0}),
        ("`cutoffs` must rise", {"embedding": 8, "cutoffs": [5, 5]}),
        ("`cutoffs` must rise", {"embedding": 8, "cutoffs": [50257]}),
        ("need an adaptive embedding", {"cutoffs": [5]}),
        ("`backbone` must be", {"backbone": "other"}),
    ],
)
@pytest.mark.parametrize("config_class", [DecoderGpt2Config, DecoderXlConfig])
def test_bad_configurations_are_refused(config_class, fault, sizes):
    with pytest.raises(ValueError, match=fault):
        config_class(**sizes)


def test_bad_architectures_are_refused():
    with pytest.raises(ConfigurationError, match="must divide `width` 16, got 3"):
        decoders.build(architecture("gpt2", 16, [3], [32]), Sizes(vocabulary=WORDS))
    with pytest.raises(ConfigurationError, match="`space` must be `decoder`"):
        decoders.build(Architecture.of("small", {}, "k"), Sizes(vocabulary=WORDS))
    with pytest.raises(UnknownNameError, match=r"unknown backbone `gpt3`\. Did you mean `gpt2`"):
        decoders.build(architecture("gpt3", 16, [2], [32]), Sizes(vocabulary=WORDS))
    with pytest.raises(ConfigurationError, match="`cutoffs` must ascend"):
        decoders.build(architecture("gpt2", 16, [2], [32], 8, 2), Sizes(vocabulary=WORDS, cutoffs=(70,)))
