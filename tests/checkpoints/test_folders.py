from __future__ import annotations

from pathlib import Path

import pytest

from secateur.checkpoints.folders import described, is_trained, local
from secateur.errors import ModelError


def test_an_existing_path_wins_over_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owner").mkdir()
    monkeypatch.chdir(tmp_path)
    assert local("owner") == Path("owner")
    assert local("owner/name") is None
    assert local("name") is None


@pytest.mark.parametrize("path", ["./missing", "/missing/model", "~/missing-model", "a/b/c", "a\\b", Path("missing")])
def test_a_path_that_does_not_exist_is_said(path: str | Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        local(path)


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"is not a checkpoint folder: it has no config\.json"):
        described(tmp_path)
    for said in ("nonsense", "[]", "{}"):
        (tmp_path / "config.json").write_text(said, encoding="utf-8")
        with pytest.raises(ModelError, match=r"config\.json` is damaged"):
            described(tmp_path)
        assert not is_trained(tmp_path)


def test_which_folders_are_trained(tmp_path: Path) -> None:
    assert not is_trained(tmp_path)
    for family, trained in (("gpt2", False), ("secateur_gpt2", False), ("secateur_decoder_xl", True)):
        (tmp_path / "config.json").write_text(f'{{"model_type": "{family}"}}', encoding="utf-8")
        assert is_trained(tmp_path) == is_trained(str(tmp_path)) == trained
