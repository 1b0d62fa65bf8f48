"""Every error that a user can cause. The command line shows one as a single line and exits with 2."""

from __future__ import annotations

import difflib
import errno
import os
import pickle
import re
from collections.abc import Callable, Iterable, Sequence


class SecateurError(Exception):
    """The root: whatever a user can cause or mend is a subclass of this."""

    def __reduce__(self) -> tuple[Callable[..., SecateurError], tuple[object, ...]]:
        # Between processes an error travels as what it says: not all that made it could be given to `__init__` again.
        return _rebuilt, (type(self), self.args, dict(self.__dict__))


def _rebuilt(kind: type[SecateurError], said: tuple[object, ...], facts: dict[str, object]) -> SecateurError:
    error = kind.__new__(kind, *said)
    error.__dict__.update(facts)
    return error


class ConfigurationError(SecateurError):
    """One or more settings are wrong; `faults` lists them all."""

    def __init__(self, faults: str | Sequence[str]) -> None:
        self.faults = [faults] if isinstance(faults, str) else list(faults)
        super().__init__("; ".join(self.faults))


class UnknownNameError(ConfigurationError):
    """A name that is in no table; the message offers the nearest one that is."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        known = sorted(known)
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
        guess = f" Did you mean `{near[0]}`?" if near else ""
        listed = ", ".join(known)
        super().__init__(f"unknown {kind} `{name}`.{guess} Known: {listed}.{' ' + hint if hint else ''}")


class ModelError(SecateurError):
    """A model that cannot be loaded, or of a family that no anatomy describes."""


class DataError(SecateurError):
    """Data that is missing, empty or malformed."""


class BoundError(SecateurError):
    """A bound that nothing meets."""


class StudyError(SecateurError):
    """A study or run folder that is damaged, in use, or of another configuration."""


class ExportError(SecateurError):
    """An export that could not be written, or whose outputs differ from the sub-network's."""


class MeasurementError(SecateurError):
    """A latency or memory figure that could not be measured."""


class MissingExtraError(SecateurError):
    """An optional library is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"`{library}` is not installed. Install it with: pip install 'secateur[{extra}]'")


class Stopped(KeyboardInterrupt):
    """Ctrl-C during a run: what was done is saved, and the message says how to go on."""


class EvaluationFailure(Exception):  # noqa: N818 - a state of a trial, not an error of the user
    """One architecture could not be evaluated. The trial fails with this reason; the study goes on."""


#: What a disk refuses with, beside being full.
_REFUSALS = (errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG, errno.ENAMETOOLONG, errno.ENODEV, errno.ESTALE)
#: How errors of the libraries that write files by themselves say so: those in Rust by a number, torch by a wrong position.
_RUST = re.compile(r"\(os error (\d+)\)")
_CUT_SHORT = re.compile(r"inline_container.*unexpected pos|PytorchStreamWriter failed writing", re.DOTALL)


def first_line(error: BaseException) -> str:
    """What an error says, in one line; its kind where it says nothing."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def disk_is_full(error: BaseException) -> bool:
    """Whether an error, of whatever library, says that no space is left. Those of Rust and C++ say so in their text only."""
    said = str(error).lower()
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    return full or any(words in said for words in ("no space left", "disk is full", "quota exceeded"))


def disk_fault(error: BaseException) -> str | None:
    """Why the disk refused, in a few words, or None where the error has another cause."""
    if disk_is_full(error):
        return "the disk is full"
    if _CUT_SHORT.search(str(error)):
        return "a file could not be written whole"
    rust = _RUST.search(str(error))
    code = error.errno if isinstance(error, OSError) else int(rust[1]) if rust else None
    if code not in _REFUSALS:
        return None
    assert code is not None
    said, file = os.strerror(code).lower(), getattr(error, "filename", None)
    return said if file is None else f"`{os.fsdecode(file)}`: {said}"


def of_a_file(error: BaseException) -> str:
    """What a library says of a file of others that it could not load, on one line."""
    if isinstance(error, pickle.UnpicklingError) or "weights_only" in str(error):  # torch would advise to load it unsafely
        return "it is a pickle that is damaged or would run code, so it is not loaded"
    return one_line(error)


def one_line(error: BaseException, most: int = 300) -> str:
    """What an error says, on one line of at most so many characters and without a closing stop; its class where it says
    nothing."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= most else text[: most - 1] + "…"
