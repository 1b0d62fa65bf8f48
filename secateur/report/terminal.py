"""What reaches a terminal: plain text whatever a name holds, and tables readable at 80 columns and when piped."""

from __future__ import annotations

import codecs
import sys
import unicodedata
from typing import Any

from secateur.report.data import Row
from secateur.report.numbers import show
from secateur.report.rows import Table

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


def print_table(table: Table, title: str, last: Row | None = None) -> None:
    """Print a table under its title: numbers to the right, nothing where a value is missing, `last` set apart at the end."""
    import rich.table
    from rich.box import SIMPLE
    from rich.text import Text

    def text(said: str) -> Text:
        return Text(plain(said, one_line=True))

    shown = rich.table.Table(title=text(title), title_justify="left", box=SIMPLE)
    for column in table.columns:
        justify: Any = "left" if column.shown_as == "text" else "right"
        shown.add_column(text(column.title), justify=justify, no_wrap=True)
    for row in [*table.rows, *([last] if last else [])]:
        if row is last:
            shown.add_section()
        values = [(row.get(column.name), column.shown_as) for column in table.columns]
        shown.add_row(*(text("" if value is None else show(value, how)) for value, how in values))
    console().print(shown)
