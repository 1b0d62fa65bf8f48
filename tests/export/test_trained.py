"""The ONNX forms of a network that was trained from scratch, added later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from secateur.decoders import Sizes, build
from secateur.errors import ConfigurationError, ExportError, ModelError, StudyError
from secateur.export import trained
from secateur.export.trained import export_trained, save_trained
from secateur.spaces.decoder import architecture
from secateur.testing.toy_tokenizer import toy_tokenizer
from secateur.verbs.export import export

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my-lm"
    model = build(architecture("gpt2", 16, [2, 4], [32, 48], 8, 1), Sizes(vocabulary=50, positions=16)).eval()
    assert save_trained(model, toy_tokenizer(["a rose"]), made, onnx=False, int8=False) == {"reloaded": 0.0}
    return made


@pytest.mark.slow
def test_forms_are_added_to_the_folder_or_to_a_copy(folder: Path, tmp_path: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    copy = export(folder, to=tmp_path / "copy", onnx=True)
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
    assert "say what to add, --onnx or --int8" in caught.value.faults[-1]
    with pytest.raises(ExportError, match="would be copied into itself"):
        export(folder, to=folder / "onnx", onnx=True)
    with pytest.raises(ExportError, match="exists already"):
        export(folder, to=folder.parent, onnx=True)
    with pytest.raises(ConfigurationError, match="--to names the folder"):
        export(tmp_path, key="abc")
    (folder / "training").mkdir()
    with pytest.raises(StudyError, match="Run the same `secateur train` command again first"):
        export(folder, onnx=True)
    (folder / "training").rmdir()

    def refused(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(trained.tempfile, "TemporaryDirectory", refused)
        with pytest.raises(ExportError, match=r"cannot be written: Permission denied\. Name a folder for a copy"):
            export(folder, onnx=True)
    (folder / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="damaged"):
        export(folder, onnx=True)
