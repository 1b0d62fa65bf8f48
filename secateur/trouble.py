"""Where a command cannot go on: what is said of it in one line, with which exit code, and where a traceback is left."""

from __future__ import annotations

import datetime
import errno
import re
import sys
import tempfile
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path

from secateur import __version__
from secateur.devices.launch import Launch
from secateur.errors import ConfigurationError, SecateurError, disk_is_full, one_line
from secateur.paths import reason
from secateur.report.terminal import echo, plain
from secateur.runs.settings import FILE

#: What the user can mend in the file system.
_USERS = {errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.EMFILE, errno.ENFILE, errno.EDQUOT}
#: Where a traceback is kept in a run's folder.
LOG = "error.log"
#: After these a word in backticks is what the user wrote, or a column, and no option.
_VALUE = re.compile(r"(got|mean|columns?|unknown [\w ]+|`,) $")


def tell(error: BaseException, flags: Mapping[str, str], folders: Iterable[Path]) -> int:
    """Say in one line each what is wrong, and return the exit code. `flags`: settings → as they are typed; `folders`: where
    the traceback of what nobody foresaw may be kept."""
    if isinstance(error, ConfigurationError):
        lines, code = error.faults, 2
    elif isinstance(error, SecateurError):
        lines, code = [str(error)], 2
    elif isinstance(error, KeyboardInterrupt):
        lines, code = [str(error) or "stopped."], 130
    elif (foreseen := _foreseen(error)) is not None:
        lines, code = [foreseen], 2
    else:
        kept = keep(error, [*([vars(error)["run_folder"]] if "run_folder" in vars(error) else []), *folders])
        said = f"{type(error).__name__}: {one_line(error)}"
        lines, code = [f"an unexpected error occurred ({said}). The traceback is in {kept}: please report it."], 1
    if (launch := Launch.here()) is not None and launch.rank:  # the first process of a launch speaks for all
        return code
    for line in lines:
        echo(f"secateur: {plain(_without_passwords(as_typed(line, flags)), one_line=True)}", error=True)
    return code


def _foreseen(error: BaseException) -> str | None:
    """What a machine refuses: memory, space, files."""
    said = one_line(error)
    if isinstance(error, MemoryError) or "out of memory" in said.lower() or "can't allocate memory" in said:
        return f"there is not enough memory ({said}). Use smaller batches, shorter texts or a smaller model."
    name = getattr(error, "filename", None)
    where = f" `{plain(str(name))[:120]}`" if name is not None else ""
    if disk_is_full(error):
        return f"the disk is full{':' + where if where else ''}. Free some space and try again."
    if isinstance(error, OSError) and error.errno in _USERS:
        return f"the system refused{where}: {reason(error)}."
    return None


def as_typed(text: str, flags: Mapping[str, str]) -> str:
    """The text with settings named as they are typed: `max_length` → `--max-length`."""

    def spelt(found: re.Match[str]) -> str:
        value = _VALUE.search(text[: found.start()]) or found[1] not in flags
        return found[0] if value else f"`{flags[found[1]]}"

    return re.sub(r"`(\w+)(?=[`=])(?!`, `)", spelt, text)


def keep(error: BaseException, folders: Iterable[Path]) -> Path:
    """Write the traceback into the first of the folders that is a run and can be written, else into a file of its own."""
    when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    trace = "".join(traceback.format_exception(error))
    text = _without_passwords(f"{when} secateur {__version__}: {' '.join(sys.argv)}\n{trace}\n")
    data = text.encode("utf-8", "backslashreplace")
    for folder in folders:
        try:
            if (folder / FILE).is_file():
                with (folder / LOG).open("ab") as log:
                    log.write(data)
                return folder / LOG
        except OSError:
            continue
    with tempfile.NamedTemporaryFile(prefix="secateur-", suffix=".log", delete=False) as own:
        own.write(data)
    return Path(own.name)


def _without_passwords(text: str) -> str:
    return re.sub(r"(\w+://[^\s:/@]*):[^\s@]+@", r"\1:…@", text)
