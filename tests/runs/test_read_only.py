"""A run that cannot be written can be read: on a disk that is mounted read-only, where the system allows a test to do that."""

from __future__ import annotations

import ctypes
import os
import shutil
import sqlite3
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secateur.errors import StudyError
from secateur.runs.folder import open_run
from secateur.study import open_store
from secateur.verbs.export import export
from secateur.verbs.front import front
from secateur.verbs.report import report
from secateur.verbs.resume import resume

NEW_MOUNTS, NEW_USER, BIND, REMOUNT, READ_ONLY, PRIVATE = 0x20000, 0x10000000, 4096, 32, 1, 0x44000
NOT_ALLOWED = 77


def mounted_read_only(folder: Path, work: Callable[[], Any]) -> None:
    """Do the work in another process, which sees the folder on a disk that takes no writes."""
    child = os.fork()
    if child == 0:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            name = str(folder).encode()
            calls = [
                lambda: libc.unshare(NEW_MOUNTS | (NEW_USER if os.geteuid() else 0)),
                lambda: libc.mount(None, b"/", None, PRIVATE, None),
                lambda: libc.mount(name, name, None, BIND, None),
                lambda: libc.mount(None, name, None, BIND | REMOUNT | READ_ONLY, None),
            ]
            if any(call() for call in calls):
                os._exit(NOT_ALLOWED)
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == NOT_ALLOWED:
        pytest.skip("this system allows no mounts")
    assert code == 0


def test_front_report_and_export_of_a_finished_run(pruned: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(pruned, tmp_path / "run"))
    keys = [member.key for member in front(pruned).members]

    def read() -> None:
        assert [member.key for member in front(copy).members] == keys
        with pytest.raises(StudyError, match=r"cannot be written: read-only file system\. Name a file elsewhere with --to"):
            report(copy).show()
        report(copy, to=tmp_path / "out" / "page.html").show()
        assert (tmp_path / "out" / "page.html").stat().st_size > 1000
        assert export(copy, to=tmp_path / "small", key=keys[0]).differences["reloaded"] < 1e-5
        with pytest.raises(StudyError, match="cannot be locked: read-only file system"):
            resume(copy, progress=False)

    mounted_read_only(copy, read)
    assert (tmp_path / "small" / "config.json").is_file()


@pytest.mark.parametrize("left", ["nothing", "a log", "a log and its index"])
def test_whatever_a_killed_process_left_is_read(left: str, designed: Path, tmp_path: Path) -> None:
    """SQLite's log holds what is not in the database yet; its index can only be made where files can be written."""
    from secateur.study import database

    copy = Path(shutil.copytree(designed, tmp_path / "run"))
    before = len(open_run(copy).trials)
    other = sqlite3.connect(copy / "study.db", isolation_level=None)
    other.execute("DELETE FROM trials WHERE number = 1")
    killed = Path(shutil.copytree(copy, tmp_path / "killed"))
    other.close()
    expected = before - 1
    if left == "nothing":
        (killed / "study.db-wal").unlink()
        expected = before
    if left != "a log and its index":
        (killed / "study.db-shm").unlink()

    def read() -> None:
        store = open_store(killed / "study.db")
        assert len(store.trials()) == expected
        with pytest.raises(StudyError, match="cannot be written"):
            store.set_meta("a", 1)
        store.close()

    with pytest.MonkeyPatch.context() as patch:  # where no mounts are allowed, at least SQLite is asked in the same way
        patch.setattr(database, "_writable", lambda path: False)
        read()
    mounted_read_only(killed, read)
