"""One process per run folder."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from secateur.errors import StudyError

_held: weakref.WeakSet[RunLock] = weakref.WeakSet()


class RunLock:
    """`with RunLock(folder):` refuses a second process on the folder. When its holder dies, the system releases the lock."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        import fcntl

        try:
            file = (self.folder / "lock").open("a+")
        except OSError as error:
            raise StudyError(
                f"`{self.folder}` cannot be locked: {error.strerror}. Is it a folder that can be written?"
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            who = f"process {holder}" if holder else "another process"
            raise StudyError(f"`{self.folder}` is in use by {who}. Wait until it ends, or stop it.") from None
        except OSError as error:
            file.close()
            raise StudyError(f"`{self.folder}` cannot be locked: {error.strerror}.") from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        _held.add(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        _held.discard(self)


def _let_go_in_child() -> None:
    # A forked worker shares the lock: one that outlives a killed parent would hold it on.
    for lock in list(_held):
        if lock._file is not None:
            lock._file.close()
            lock._file = None


os.register_at_fork(after_in_child=_let_go_in_child)
