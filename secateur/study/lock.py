"""One process per run folder."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from secateur.errors import StudyError
from secateur.paths import reason

_held: weakref.WeakSet[RunLock] = weakref.WeakSet()


class RunLock:
    """`with RunLock(folder):` refuses a second process on the folder. When its holder dies, the system releases the lock."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        import fcntl

        path = self.folder / "lock"
        try:
            file = path.open("ab+", buffering=0)
        except OSError as error:
            raise StudyError(f"`{self.folder}` cannot be locked: {reason(error)}. Is it a writable folder?") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().decode("ascii", "replace").strip()
            file.close()
            who = f"process {holder}" if holder else "another process"
            raise StudyError(f"`{self.folder}` is in use by {who}. Wait for it to finish, or stop it.") from None
        except OSError as error:
            file.close()
            raise StudyError(f"`{self.folder}` cannot be locked: {reason(error)}.") from error
        if not _still_there(path, file):  # its last holder removed it, and another process may hold the one that is there now
            file.close()
            return self.__enter__()
        with suppress(OSError):  # on a full disk it is held as well, though nobody is told by whom
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        self._file = file
        _held.add(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        _held.discard(self)


def holder(folder: str | Path) -> int | None:
    """The process on this machine that holds the folder's lock, or None. Nothing is locked to find out: a start at the same
    moment is not refused."""
    import psutil

    path = Path(folder) / "lock"
    try:
        number = int(path.read_text())
        process = psutil.Process(number)
    except (OSError, ValueError, OverflowError, psutil.Error):
        return None
    try:
        held = str(path.resolve()) in {file.path for file in process.open_files()}
    except psutil.AccessDenied:  # another user's
        return number
    except psutil.Error:
        return None
    return number if held else None


def _still_there(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _let_go_in_child() -> None:
    # A forked worker shares the lock: one that outlives a killed parent would hold it on.
    for lock in list(_held):
        if lock._file is not None:
            lock._file.close()
            lock._file = None


os.register_at_fork(after_in_child=_let_go_in_child)
