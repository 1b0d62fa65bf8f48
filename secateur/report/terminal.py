"""What reaches a terminal: plain text, whatever a name holds."""

from __future__ import annotations

import codecs
import sys
import unicodedata
from typing import Any

#: What stands for a character that a terminal does not have.
_SPELT = {"×": "x", "−": "-", "–": "-", "…": "...", "≤": "<=", "≥": ">=", "·": "|", "µ": "u", "±": "+-", "\xa0": " "}
#: Characters that turn the direction of what follows them.
_TURNING = {*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}


def plain(text: str, *, one_line: bool = False) -> str:
    """A text in which nothing steers the terminal: control characters, and bytes of names that are no UTF-8, are spelt."""
    kept = "" if one_line else "\n\t"
    return "".join(c if c in kept or not _steers(c) else c.encode("unicode_escape").decode() for c in text)


def _steers(character: str) -> bool:
    return character in _TURNING or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def echo(text: str, *, error: bool = False) -> None:
    """Print a text on standard output, or on standard error."""
    print(plain(text), file=sys.stderr if error else sys.stdout, flush=True)


def hand_on(text: str) -> None:
    """Print a text for other programs, as it is: UTF-8, whatever the terminal's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(errors="backslashreplace"))
    sys.stdout.buffer.flush()


def spell_what_is_missing() -> None:
    """From now on, characters that the terminal's encoding does not have are spelt (`...`), or shown as `?`."""
    codecs.register_error("secateur", _spelt)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="secateur")


def _spelt(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_SPELT.get(c, "?") for c in error.object[error.start : error.end]), error.end


def console() -> Any:
    """Where commands print: `print` lines as they are, `width` columns."""
    from rich.console import Console

    class Plain(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(plain(o) if isinstance(o, str) else o for o in objects), **options)

    return Plain(highlight=False, markup=False, emoji=False)


def room() -> int | None:
    """The columns of the terminal; None where the output is no terminal, and as wide as it has to be."""
    out = console()
    return out.width if out.is_terminal else None


def say(text: str = "", *, whole: bool = False) -> None:
    """Print a text. On a terminal, lines break between words; what is to be copied, a path or a command, stays `whole`."""
    console().print(text, soft_wrap=whole or room() is None)
