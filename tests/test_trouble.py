"""Where a command cannot go on: one line, the right exit code, and a traceback only in a file."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secateur import cli, trouble
from secateur.errors import ConfigurationError, DataError, Stopped

FLAGS = {"max_length": "--max-length", "objectives": "--objective", "text": "--text", "length": "--length", "data": "--data"}


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigurationError(["`max_length` must be 1.", "two"]), 2, ["`--max-length` must be 1.", "two"]),
        (DataError("a name with \x1b[31m and\nlines"), 2, [r"a name with \x1b[31m and\nlines"]),
        (KeyboardInterrupt(), 130, ["stopped."]),
        (Stopped("stopped. Go on."), 130, ["stopped. Go on."]),
        (
            MemoryError(),
            2,
            ["there is not enough memory (MemoryError). Use smaller batches, shorter texts or a smaller model."],
        ),
        (
            RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
            2,
            [
                "there is not enough memory (CUDA out of memory. Tried to allocate 2 GiB). "
                "Use smaller batches, shorter texts or a smaller model."
            ],
        ),
        (OSError(errno.ENOSPC, "No space left on device"), 2, ["the disk is full. Free some space and try again."]),
        (OSError(errno.ENAMETOOLONG, "File name too long", "xx"), 2, ["the system refused `xx`: file name too long."]),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 2, ["the system refused `/x`: permission denied."]),
    ],
)
def test_what_is_said(error: BaseException, code: int, said: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert trouble.tell(error, FLAGS, []) == code
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [f"secateur: {line}" for line in said]
    assert printed.out == ""


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("`max_length` must be at least 2.", "`--max-length` must be at least 2."),
        ("`length` must be at most `max_length` (3).", "`--length` must be at most `--max-length` (3)."),
        ("give fewer `objectives`.", "give fewer `--objective`."),
        ("`objectives=x`: no.", "`--objective=x`: no."),
        ("unknown space `text`. Did you mean `data`?", "unknown space `text`. Did you mean `data`?"),
        ("`length` must be a number, got `text`.", "`--length` must be a number, got `text`."),
        ("no column `text`; the columns are: `text`, `data`.", "no column `text`; the columns are: `text`, `data`."),
        ("`elsewhere` and plain text stay.", "`elsewhere` and plain text stay."),
    ],
)
def test_options_are_named_as_they_are_typed(text: str, typed: str) -> None:
    assert trouble.as_typed(text, FLAGS) == typed


def test_what_nobody_foresaw_leaves_its_traceback_in_the_run(
    designed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(designed, folder)

    def broken(run: Any) -> None:
        raise ZeroDivisionError("of postgresql://me:secret@host/db")

    monkeypatch.setattr("secateur.runs.design.run.DesignRun.front", property(broken))
    shown = CliRunner().invoke(cli.app, ["front", str(folder)])
    assert shown.exit_code == 1
    (line,) = shown.stderr.splitlines()
    assert line == (
        "secateur: an unexpected error occurred (ZeroDivisionError: of postgresql://me:…@host/db). "
        f"The traceback is in {folder / 'error.log'}: please report it."
    )
    kept = (folder / "error.log").read_text()
    assert "in broken" in kept
    assert "secret" not in kept


def test_without_a_run_the_traceback_is_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "open", lambda *_, **__: (_ for _ in ()).throw(PermissionError(errno.EACCES, "no")))
    readonly = tmp_path / "run"
    readonly.mkdir()
    (readonly / "config.yaml").touch()
    with pytest.raises(KeyError) as caught:
        raise KeyError("here")
    assert trouble.tell(caught.value, {}, [tmp_path / "none", readonly]) == 1
    (log,) = tmp_path.glob("secateur-*.log")
    assert re.search(rf"KeyError: 'here'\)\. The traceback is in {log}", capsys.readouterr().err)
    with open(log) as file:
        assert 'raise KeyError("here")' in file.read()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["front"], "missing argument"),
        (["measure", "x", "--threads", "many"], "invalid value for '--threads'"),
        (["measure", "x", "--thread", "1"], "no such option"),
        (["frnt"], "no such command"),
        (["front", "\x1b[31m"], r"the name `\x1b[31m` contains control characters"),
        (["front", "x" * 300], "file name too long"),
        (["front", "\udcff"], "is not UTF-8"),
    ],
)
def test_words_that_mean_nothing_are_one_line(arguments: list[str], said: str) -> None:
    shown = CliRunner().invoke(cli.app, arguments)
    assert shown.exit_code == 2
    (line,) = shown.stderr.splitlines()
    assert line.startswith("secateur: ")
    assert said in line
