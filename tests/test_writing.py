"""Files are written aside and moved into place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from secateur.writing import aside, clean, is_aside, whole, write_whole

DEAD = 2**22 + 1


def test_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = write_whole("old", tmp_path / "made" / "file")
    with pytest.raises(UnicodeEncodeError):
        write_whole("half of it \ud800", path)
    assert path.read_text() == "old"
    with whole(path) as draft:
        draft.write_text("newer")
        assert path.read_text() == "old"
    assert path.read_text() == "newer"
    write_whole("new", path, mode=0o600)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == ["file"]


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = aside(tmp_path / "file")
    mine.write_text("being written")
    with monkeypatch.context() as patch:
        patch.setattr("secateur.writing.getpid", lambda: DEAD)
        left, other = aside(tmp_path / "file"), aside(tmp_path / "folder")
    left.write_text("half")
    Path(f"{left}-wal").write_text("of a database")
    other.mkdir()
    (other / "half").write_text("half")
    (tmp_path / f".file.{DEAD}").write_text("the user's own")
    assert is_aside(left)
    aside(tmp_path / "file")
    assert {path.name for path in tmp_path.iterdir()} == {mine.name, other.name, f".file.{DEAD}"}
    clean(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {mine.name, f".file.{DEAD}"}
    clean(tmp_path / "nowhere")
