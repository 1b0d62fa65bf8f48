from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from secateur.errors import ConfigurationError, MeasurementError, ModelError
from secateur.verbs.measure import load_any, measure

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


def edited(checkpoint: Path, folder: Path, **changes: Any) -> Path:
    """A copy of the checkpoint with other entries in its config.json."""
    config = json.loads((checkpoint / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    (folder / "model.safetensors").write_bytes((checkpoint / "model.safetensors").read_bytes())
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


def test_importing_the_verb_imports_no_torch() -> None:
    code = "import sys, secateur.verbs.measure; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0


@pytest.mark.parametrize("path", ["./missing", "/missing/model", "~/missing-model", "a/b/c"])
def test_a_path_that_does_not_exist_is_said(path: str) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        measure(path)


def test_a_hub_name_that_cannot_be_had_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers

    def refuse(name: str, **_: Any) -> None:
        raise OSError(f"no connection for {name}\nand more lines")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", refuse)
    with pytest.raises(ModelError, match=r"`owner/name` could not be loaded: no connection for owner/name$"):
        load_any("owner/name")


def test_a_folder_without_a_configuration_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_any(str(tmp_path))


def test_damaged_files_are_said(checkpoint: Path, tmp_path: Path) -> None:
    folder = edited(checkpoint, tmp_path)
    (folder / "model.safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(ModelError, match="could not be loaded"):
        load_any(str(folder))
    (folder / "config.json").write_text("{not json")
    with pytest.raises(ModelError, match="is damaged"):
        load_any(str(folder))
    (folder / "config.json").write_text("[]")
    with pytest.raises(ModelError, match="is damaged"):
        load_any(str(folder))


def test_an_unknown_class_is_said(checkpoint: Path, tmp_path: Path) -> None:
    folder = edited(checkpoint, tmp_path, architectures=["BertForDreaming"])
    with pytest.raises(ModelError, match="`BertForDreaming`, which transformers"):
        load_any(str(folder))


def test_without_a_named_class_the_bare_model_is_loaded(checkpoint: Path, tmp_path: Path) -> None:
    assert type(load_any(str(edited(checkpoint, tmp_path, architectures=None)))).__name__ == "BertModel"


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


def test_the_code_of_a_stranger_is_not_run(checkpoint: Path, tmp_path: Path) -> None:
    table = {"AutoConfig": "modeling_stranger.Config", "AutoModel": "modeling_stranger.Model"}
    folder = edited(checkpoint, tmp_path, auto_map=table, model_type="stranger")
    (folder / "modeling_stranger.py").write_text("raise SystemExit('a checkpoint's own code was run')")
    with pytest.raises(ModelError, match="could not be loaded"):
        load_any(str(folder))


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
    assert "tokens a second" in str(found)
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
    with pytest.raises(ConfigurationError, match="`generate` must be 0 or at least 2"):
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
