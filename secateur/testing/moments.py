"""Every moment at which a process may be killed or a disk refuse: before each operation that changes a file of a folder.

Operations are those that Python announces (`sys.addaudithook`), SQLite's commits, and the files that safetensors, tokenizers
and torch write by themselves. A file that is being written is seen empty and half written, too.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
#: Audit events → which of their arguments are the path and the descriptor of the folder that it is relative to.
_EVENTS: dict[str, tuple[int, int | None]] = {
    "os.rename": (0, 2),
    "os.remove": (0, 1),
    "os.mkdir": (0, 2),
    "os.rmdir": (0, 1),
    "os.link": (1, 3),
    "os.symlink": (1, 2),
    "os.truncate": (0, None),
    "os.chmod": (0, 2),
}
#: The number of a process that is no more: there are never so many.
_KILLED = 2**22 + 1
#: What is told of an operation: its name, the path, and whether an old content is lost before a new one is there.
Told = Callable[[str, Path, bool], None]

_told: Told | None = None
_installed = False


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _told is None:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str | bytes) and flags & _WRITING:
            _tell("open", path, bool(flags & os.O_TRUNC))
    elif event in _EVENTS:
        place, base = _EVENTS[event]
        path = os.fsdecode(arguments[place]) if not isinstance(arguments[place], int) else ""
        if base is not None and isinstance(arguments[base], int) and arguments[base] >= 0:
            path = os.path.join(os.readlink(f"/proc/self/fd/{arguments[base]}"), path)
        _tell(event, path, False)


def _tell(name: str, path: Any, emptied: bool) -> None:
    """Tell of one operation; what the one who is told does himself is not told of."""
    global _told
    told, _told = _told, None
    if told is None:
        return
    try:
        told(name, Path(os.path.abspath(os.fsdecode(path))), emptied)
    finally:
        _told = told


@contextmanager
def watched(folder: Path, told: Told) -> Iterator[None]:
    """Within the context `told` is called before every operation on the folder or below it; what it raises, the operation
    raises."""
    global _told, _installed
    if not _installed:
        sys.addaudithook(_hear)
        _installed = True
    folder = Path(os.path.abspath(folder))
    _told = lambda name, path, emptied: told(name, path, emptied) if path == folder or folder in path.parents else None  # noqa: E731
    try:
        with _natives(folder):
            yield
    finally:
        _told = None


@contextmanager
def _natives(folder: Path) -> Iterator[None]:
    """What changes files without Python's knowledge."""
    import safetensors.numpy
    import safetensors.torch
    import torch
    from sqlalchemy.engine.default import DefaultDialect
    from transformers import PreTrainedTokenizerFast

    def announced(function: Any, path_of: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def write(*arguments: Any, **options: Any) -> Any:
            path = path_of(*arguments, **options)
            if isinstance(path, str | os.PathLike):
                _tell("write", path, True)
            return function(*arguments, **options)

        return write

    def commit(dialect: Any, connection: Any) -> None:
        _tell("commit", folder, False)
        connection.commit()

    second: Callable[..., Any] = lambda _, path, *more, **options: path  # noqa: E731
    tokenizer: Callable[..., Any] = lambda _, save_directory, *more, **options: Path(save_directory) / "tokenizer.json"  # noqa: E731
    writers = [
        (safetensors.torch, "serialize_file", second),
        (safetensors.numpy, "serialize_file", second),
        (torch, "save", second),
        (PreTrainedTokenizerFast, "_save_pretrained", tokenizer),
    ]
    with ExitStack() as stack:
        for where, name, path_of in writers:
            stack.enter_context(patch.object(where, name, announced(getattr(where, name), path_of)))
        stack.enter_context(patch.object(DefaultDialect, "do_commit", commit))
        yield


def left_by_kills(folder: Path, to: Path, work: Callable[[], Any]) -> list[tuple[str, Path]]:
    """Do the work, and copy what a kill would leave in `folder` at each moment: (moment, copy), no two alike.

    The folder may not be there at first. Copies lie in `to`, each under the folder's own name.
    """
    found: list[tuple[str, Path]] = []
    seen: set[str] = set()
    written: list[Path] = []  # since the last moment

    def keep(moment: str, change: Callable[[Path], None] | None = None) -> None:
        copy = to / f"{len(found):04d}" / folder.name
        copy.parent.mkdir(parents=True)
        if folder.exists():
            shutil.copytree(folder, copy, symlinks=True)
        if change is not None:
            change(copy)
        state = _state(copy)
        if state in seen:
            shutil.rmtree(copy.parent)
            return
        seen.add(state)
        found.append((moment, copy))

    def cut(file: Path, share: float) -> Callable[[Path], None]:
        def change(copy: Path) -> None:
            there = copy / file.relative_to(folder)
            if share == 0 and there.parent.is_dir():
                there.touch()
            if there.is_file():
                os.truncate(there, int(there.stat().st_size * share))

        return change

    def told(name: str, path: Path, emptied: bool) -> None:
        for file in written:
            keep(f"half of {file.relative_to(folder)}", cut(file, 0.5))
        written.clear()
        keep(f"before {name} {path.relative_to(folder)}")
        if emptied:
            keep(f"empty {path.relative_to(folder)}", cut(path, 0))
            written.append(path)

    folder = Path(os.path.abspath(folder))
    with watched(folder, told), patch("secateur.writing.getpid", return_value=_KILLED):
        work()
    return found


def _state(folder: Path) -> str:
    """What lies in a folder, in a digest. What SQLite rebuilds is left out."""
    said = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if not path.name.endswith("-shm"):
            said.update(f"\0{path.relative_to(folder)}\0".encode())
            said.update(path.read_bytes() if path.is_file() else b"folder")
    return said.hexdigest() + str(folder.exists())


@contextmanager
def refusing(folder: Path, at: int, code: int) -> Iterator[list[str]]:
    """From the operation with this number on the disk refuses with an error of this code; a full one takes removals. Gives the
    names of the operations so far."""
    names: list[str] = []
    taken = ("os.remove", "os.rmdir") if code == errno.ENOSPC else ()

    def told(name: str, path: Path, emptied: bool) -> None:
        names.append(f"{name} {path.relative_to(os.path.abspath(folder))}")
        if len(names) > at and name not in taken:
            if name == "commit":
                full = code == errno.ENOSPC
                raise sqlite3.OperationalError("database or disk is full" if full else "attempt to write a readonly database")
            raise OSError(code, os.strerror(code), str(path))

    with watched(folder, told), patch("secateur.writing.getpid", return_value=_KILLED):
        yield names
