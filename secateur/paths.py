"""Names of files and folders as users give them, checked before anything else looks at them."""

from __future__ import annotations

import errno
import os
import shlex
import stat
import unicodedata
from pathlib import Path

from secateur.errors import SecateurError


def checked(name: str | Path, error: type[SecateurError]) -> Path:
    """The path of this name, `~` resolved. Raises `error` where no file could have it, or where it cannot be looked at.

    A name that is only free is no fault. Names go into settings, reports and messages: what is no UTF-8, or would control a
    terminal, is refused here, once.
    """
    text = str(name)
    if not text.strip():
        raise error("a name is empty: give a file or folder.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise error(f"the name {shown(text)} is not UTF-8: rename the file or folder.") from None
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise error(f"the name {shown(text)} contains control characters: rename the file or folder.")
    try:
        path = Path(text).expanduser()
        if stat.S_ISDIR(os.stat(path).st_mode) and not os.access(path, os.R_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (FileNotFoundError, NotADirectoryError):
        return path
    except (OSError, RuntimeError) as why:  # RuntimeError: `~name` of a user that is not there
        raise error(f"{shown(text)} cannot be used: {reason(why)}.") from None
    return path


def shown(text: str) -> str:
    """A name as a message can show it, whatever it holds: escaped, and cut where it is long."""
    plain = text if text.isprintable() else text.encode("unicode_escape").decode()
    return f"`{plain if len(plain) <= 120 else plain[:119] + '…'}`"


def quoted(path: str | Path) -> str:
    """A path as a command line takes it, blanks and all."""
    return shlex.quote(str(path))


def reason(error: BaseException) -> str:
    """Why the system refused: `permission denied`."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def regular(path: Path) -> bool:
    """Whether it is a file that can be read to its end: no folder, pipe or device."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def no_folder(to: Path) -> list[str]:
    """The fault of naming a file where results go into a folder."""
    return [f"`{to}` is a file: --to takes a folder."] if to.exists() and not to.is_dir() else []
