from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from secateur.checkpoints.pretrained import load_any
from secateur.errors import ConfigurationError, MeasurementError
from secateur.verbs.measure import measure

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 50,
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import BertConfig, BertForSequenceClassification

    folder = tmp_path_factory.mktemp("bert")
    BertForSequenceClassification(BertConfig(max_position_embeddings=64, **SIZES)).save_pretrained(folder)
    return folder


def test_a_checkpoint_is_measured(checkpoint: Path) -> None:
    found = measure(str(checkpoint), batch=2, length=16, seconds=0.3)
    network = load_any(str(checkpoint))
    assert type(network).__name__ == "BertForSequenceClassification"
    assert found.parameters == sum(p.numel() for p in network.parameters())
    assert found.latency.median > 0
    assert (found.latency.batch, found.latency.length, found.latency.threads) == (2, 16, 1)
    # Beside the parameters, BERT keeps two integer tables of its positions as buffers.
    assert found.memory.weights == 4 * found.parameters + 2 * 64 * 8
    assert found.memory.peak > found.memory.weights
    assert json.loads(json.dumps(found.as_dict()))["parameters"] == found.parameters
    assert f"{found.parameters:,}" in str(found)


def test_multiple_choice_is_recognised(tmp_path: Path) -> None:
    from transformers import BertConfig, BertForMultipleChoice

    BertForMultipleChoice(BertConfig(max_position_embeddings=64, **SIZES)).save_pretrained(tmp_path)
    assert measure(str(tmp_path), length=16, seconds=0.2).latency.median > 0


def test_the_signature_is_a_command(checkpoint: Path) -> None:
    app = typer.Typer()
    app.command()(measure)
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert "--batch" in shown.output
    assert CliRunner().invoke(app, [str(checkpoint), "--length", "8", "--seconds", "0.1"]).exit_code == 0


def test_an_exported_sub_network_is_measured_and_smaller(checkpoint: Path, tmp_path: Path) -> None:
    from secateur.export.checkpoint import save_checkpoint
    from secateur.spaces.pruning.plan import Plan
    from secateur.supernet.supernet import Supernet

    whole = load_any(str(checkpoint))
    folder = tmp_path / "pruned"
    save_checkpoint(Supernet(whole), Plan.uniform(1, 1, 8), folder)
    assert json.loads((folder / "config.json").read_text())["model_type"] == "secateur_bert"
    (folder / "modeling_secateur.py").write_text("raise SystemExit('a checkpoint's own code was run')")
    small, large = (measure(str(f), length=16, seconds=0.2) for f in (folder, checkpoint))
    assert small.parameters == Supernet(whole).parameters(Plan.uniform(1, 1, 8))
    assert small.memory.peak < large.memory.peak


def test_all_faults_of_the_sizes_are_reported_before_anything_loads() -> None:
    with pytest.raises(ConfigurationError) as caught:
        measure("./missing", batch=0, length=0, threads=0, seconds=0)
    assert len(caught.value.faults) == 4


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import GPT2Config, GPT2LMHeadModel

    folder = tmp_path_factory.mktemp("gpt2")
    sizes: dict[str, Any] = {"n_layer": 1, "n_embd": 16, "n_head": 2, "vocab_size": 50, "n_positions": 64}
    GPT2LMHeadModel(GPT2Config(bos_token_id=0, eos_token_id=0, **sizes)).save_pretrained(folder)
    return folder


def test_prompt_and_generation_are_measured_apart(decoder: Path) -> None:
    found = measure(str(decoder), length=32, seconds=0.2, generate=4)
    assert found.generation is not None
    assert found.generation.prompt.length == 32
    assert found.generation.token.length == 1
    assert "tokens per second" in str(found)
    assert json.loads(json.dumps(found.as_dict()))["generation"]["tokens"] == 4
    assert measure(str(decoder), length=8, seconds=0.1).generation is None


def test_the_runtime_is_used_and_said(decoder: Path) -> None:
    found = measure(str(decoder), length=16, seconds=0.2, runtime="torch-int8", generate=3)
    assert found.latency.runtime == "torch-int8"
    assert found.generation is not None
    assert found.generation.token.runtime == "torch-int8"


def test_a_model_that_generates_nothing_is_said(checkpoint: Path) -> None:
    with pytest.raises(MeasurementError, match="`BertForSequenceClassification`"):
        measure(str(checkpoint), length=8, seconds=0.1, generate=3)


def test_runtimes_that_do_not_fit_are_refused(checkpoint: Path) -> None:
    with pytest.raises(ConfigurationError, match="needs a cache, which the ONNX export leaves out"):
        measure("./missing", runtime="onnx", generate=4)
    with pytest.raises(ConfigurationError, match="`generate` must be at least 2 tokens"):
        measure("./missing", generate=1)
    with pytest.raises(ConfigurationError, match="unknown runtime `tensorflow`"):
        measure(str(checkpoint), runtime="tensorflow")


def test_a_length_beyond_the_model_is_refused(checkpoint: Path) -> None:
    with pytest.raises(ConfigurationError, match="at most 64"):
        measure(str(checkpoint), length=65)


def test_a_model_that_cannot_run_on_token_ids_is_said(tmp_path: Path) -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    sizes: dict[str, Any] = {"d_model": 16, "d_kv": 8, "num_heads": 2, "d_ff": 32, "num_layers": 1, "vocab_size": 50}
    T5ForConditionalGeneration(T5Config(**sizes)).save_pretrained(tmp_path)
    with pytest.raises(MeasurementError, match="`T5ForConditionalGeneration` could not be run on token ids"):
        measure(str(tmp_path), length=8)
