"""The ONNX forms of a network that was trained from scratch, added later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from secateur.checkpoints.exported import load
from secateur.checkpoints.tokenizers import tokenizer_of
from secateur.decoders import Sizes, build
from secateur.errors import ConfigurationError, DataError, ExportError, ModelError, StudyError
from secateur.estimators import forms
from secateur.export import trained
from secateur.export.trained import export_trained, save_trained
from secateur.runs.design.forms import text_digest
from secateur.spaces.decoder import architecture
from secateur.tasks.text import load_text, token_ids
from secateur.testing.toy_tokenizer import toy_tokenizer
from secateur.training.text_trainer import evaluate_text
from secateur.verbs.export import export

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my-lm"
    model = build(architecture("gpt2", 16, [2, 4], [32, 48], 8, 1), Sizes(vocabulary=50, positions=16)).eval()
    assert save_trained(model, toy_tokenizer(["a rose"]), made, onnx=False, int8=False) == ({"reloaded": 0.0}, None)
    return made


@pytest.fixture
def text(folder: Path, tmp_path: Path) -> Path:
    """The text that the folder says it was trained on."""
    made = tmp_path / "text.txt"
    made.write_text("a rose is a rose\n" * 200)
    settings = {"length": 8, "text": text_digest(load_text(made))}
    (folder / "curve.json").write_text(json.dumps({"settings": settings}))
    return made


def test_forms_are_scored_on_the_text_that_is_named(folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "SECONDS", 0.02)
    (folder / "README.md").write_text("# mine\n\n## Forms\n\nolder ones\n\n## Architecture\n\nas it is\n")
    found = export(folder, onnx=True, text=text)
    assert found.forms is not None
    assert found.forms.metric == "perplexity"
    tokens = token_ids(load_text(text).validation, tokenizer_of(str(folder)))
    expected = evaluate_text(load(folder), tokens, length=8, batch=4).perplexity
    assert [form.score for form in found.forms.forms] == pytest.approx([expected] * 2, rel=1e-4)
    card = (folder / "README.md").read_text()
    assert card == f"# mine\n\n{found.forms.table()}\n\n## Architecture\n\nas it is\n"
    text.write_text("another text\n" * 200)
    with pytest.raises(DataError, match=r"is not the text that .* was trained on"):
        export(folder, onnx=True, text=text)
    (folder / "curve.json").write_text("{}")
    with pytest.raises(StudyError, match=r"curve\.json` does not say how the network was trained"):
        export(folder, onnx=True, text=text)


@pytest.mark.slow
def test_forms_are_added_to_the_folder_or_to_a_copy(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "SECONDS", 0.02)
    before = {path.name for path in folder.iterdir()}
    copy = export(folder, to=tmp_path / "copy", onnx=True)
    assert copy.forms is not None
    assert "name the text it was trained on with --text" in str(copy)
    assert {path.name for path in folder.iterdir()} == before
    assert set(copy.files) == before | {"model.onnx"}
    assert copy.differences["reloaded"] == 0
    assert copy.differences["onnx"] <= 1e-4
    found = export(str(folder), int8=True)  # type: ignore[arg-type]
    assert set(found.files) == {path.name for path in folder.iterdir()} == before | {"model.onnx", "model.int8.onnx"}
    assert set(found.differences) == {"onnx", "int8"}
    assert found.folder == folder


def test_what_does_not_agree_is_not_kept(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(network: Any, to: Path, **_: Any) -> Any:
        (to / "model.onnx").write_bytes(b"half")
        raise ExportError("the onnx network's outputs differ")

    monkeypatch.setattr(trained, "write_forms", differs)
    before = sorted(folder.iterdir())
    for to in (None, tmp_path / "copy"):
        with pytest.raises(ExportError, match="outputs differ"):
            export_trained(folder, to)
    assert sorted(folder.iterdir()) == before
    assert list(tmp_path.iterdir()) == [folder]


def test_faults(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError) as caught:
        export(folder, key="abc", under=["latency=1ms"], polished=True)
    assert len(caught.value.faults) == 4
    assert "say what to add, --onnx, --int8 or --int4" in caught.value.faults[-1]
    with pytest.raises(ExportError, match="would be copied into itself"):
        export(folder, to=folder / "onnx", onnx=True)
    with pytest.raises(ExportError, match="already exists"):
        export(folder, to=folder.parent, onnx=True)
    with pytest.raises(ConfigurationError, match="--to names a new folder"):
        export(tmp_path, key="abc")
    (folder / "training").mkdir()
    (folder / "training" / "settings.json").write_text("{}")
    with pytest.raises(StudyError, match="Run the same `secateur train` command again first"):
        export(folder, onnx=True)
    (folder / "training" / "settings.json").unlink()
    (folder / "training").rmdir()

    def refused(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", refused)
        with pytest.raises(ExportError, match=r"cannot be written: permission denied\. Name a folder for a copy"):
            export(folder, onnx=True)
    (folder / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="damaged"):
        export(folder, onnx=True)
