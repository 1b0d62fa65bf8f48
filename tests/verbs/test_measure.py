from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from secateur.errors import ConfigurationError, ModelError
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


def test_the_signature_is_a_command(checkpoint: Path) -> None:
    app = typer.Typer()
    app.command()(measure)
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert "--batch" in shown.output
    assert CliRunner().invoke(app, [str(checkpoint), "--length", "8", "--seconds", "0.1"]).exit_code == 0


def test_faults_come_before_anything_loads() -> None:
    with pytest.raises(ConfigurationError) as caught:
        measure("./missing", batch=0, threads=0, seconds=0, runtime="onnx", generate=1)
    assert len(caught.value.faults) == 4


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
    small, large = (measure(str(f), length=16, seconds=0.05) for f in (folder, checkpoint))
    assert small.parameters == Supernet(whole).parameters(Plan.uniform(1, 1, 8))
    assert small.memory.peak < large.memory.peak


def test_the_code_of_a_stranger_is_not_run(checkpoint: Path, tmp_path: Path) -> None:
    table = {"AutoConfig": "modeling_stranger.Config", "AutoModel": "modeling_stranger.Model"}
    folder = edited(checkpoint, tmp_path, auto_map=table, model_type="stranger")
    (folder / "modeling_stranger.py").write_text("raise SystemExit('a checkpoint's own code was run')")
    with pytest.raises(ModelError, match="could not be loaded"):
        load_any(str(folder))
