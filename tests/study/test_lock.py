"""The lock of a run folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from secateur.errors import StudyError
from secateur.study import RunLock

HOLD = """
import sys
from secateur.study import RunLock
with RunLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_holder_is_refused_and_named(tmp_path: Path) -> None:
    with RunLock(tmp_path), pytest.raises(StudyError, match=f"is in use by process {os.getpid()}"), RunLock(tmp_path):
        pass
    with RunLock(tmp_path):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(StudyError, match=f"process {child.pid}"), RunLock(tmp_path):
        pass
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    child.stdin.close()
    with RunLock(tmp_path):
        pass


def test_a_forked_child_does_not_hold_it(tmp_path: Path) -> None:
    held, end = os.pipe()
    ready, say = os.pipe()
    with RunLock(tmp_path):
        child = os.fork()
        if child == 0:  # a worker that outlives its parent's lock: waits until the pipe is closed
            os.close(end)
            os.write(say, b"!")
            os.read(held, 1)
            os._exit(0)
        assert os.read(ready, 1) == b"!"
    try:
        with RunLock(tmp_path):
            pass
    finally:
        os.close(end)
        os.waitpid(child, 0)
        for pipe in (held, ready, say):
            os.close(pipe)


def test_without_a_folder(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be locked"), RunLock(tmp_path / "none"):
        pass


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: object, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(StudyError, match="cannot be locked: operation not supported"), RunLock(tmp_path):
        pass


def test_a_lock_that_its_holder_removed_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who opened the file before it was removed, and locks it afterwards, would hold another one than those who come later."""
    real, opened = Path.open, []

    def removed(self: Path, *arguments: Any, **options: Any) -> Any:
        file = real(self, *arguments, **options)
        opened.append(file)
        if len(opened) == 1:
            self.unlink()
        return file

    monkeypatch.setattr(Path, "open", removed)
    with RunLock(tmp_path), pytest.raises(StudyError, match="is in use"), RunLock(tmp_path):
        pass
    assert len(opened) == 3
    assert (tmp_path / "lock").exists()
