"""Files and folders that appear whole or not at all: written aside, under a name of this process, and moved into place."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import getpid
from pathlib import Path

#: The names of what is written aside, with the process that writes it; SQLite adds names of its own.
_ASIDE = re.compile(r"\.(?P<name>.+)\.(?P<process>\d+)-[0-9a-f]{6}\.unfinished(-wal|-shm|-journal)?")


def aside(path: Path) -> Path:
    """A name beside `path` that nobody else has. What killed processes left of theirs is removed."""
    clean(path.parent, path.name)
    return path.with_name(f".{path.name}.{getpid()}-{secrets.token_hex(3)}.unfinished")


def clean(folder: Path, name: str | None = None) -> None:
    """Remove what processes that are no more have left aside in a folder: of the file or folder of this name, or of all."""
    with suppress(OSError):
        for path in list(folder.iterdir()):
            found = _ASIDE.fullmatch(path.name)
            if found and name in (None, found["name"]) and not _lives(int(found["process"])):
                remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder as far as that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def discard(path: Path) -> None:
    """Remove a folder that must never be found half removed: it loses its name first."""
    if path.is_dir():
        target = aside(path)
        path.rename(target)
        remove(target)


def is_aside(path: Path) -> bool:
    """Whether this is the name of something that was being written."""
    return _ASIDE.fullmatch(path.name) is not None


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Where to write a file: it is moved into place when the context ends, and removed where that raises. Whoever reads the
    file, whenever, finds the old one or the new one. Its folder is made."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = aside(path)
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        remove(draft)
        raise


def write_whole(text: str, path: str | Path, mode: int | None = None) -> Path:
    """Write a text file, whole or not at all."""
    with whole(path) as draft:
        draft.write_text(text, encoding="utf-8")
        if mode is not None:
            draft.chmod(mode)
    return Path(path)


def check_writable(folder: Path) -> None:
    """Make a folder where it is not there, and write something into it. Raises OSError where that cannot be done."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = aside(folder / "try")
    draft.touch()
    draft.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's, or no number of a process
        return True
    return True


def open_weights(folder: Path) -> None:
    """Let those read the weights who may read the folder: safetensors writes them for their owner alone."""
    for path in folder.glob("*.safetensors"):
        path.chmod(folder.stat().st_mode & 0o666)
