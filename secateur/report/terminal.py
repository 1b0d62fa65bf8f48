"""Tables on the command line, readable at 80 columns and when piped."""

from __future__ import annotations

from typing import Any

from secateur.report.data import Row
from secateur.report.numbers import show
from secateur.report.rows import Table


def console() -> Any:
    """Where commands print: `print` lines, `width` columns."""
    from rich.console import Console

    return Console(highlight=False)


def print_table(table: Table, title: str, last: Row | None = None) -> None:
    """Print a table under its title: numbers to the right, nothing where a value is missing, `last` set apart at the end."""
    import rich.table
    from rich.box import SIMPLE
    from rich.markup import escape

    shown = rich.table.Table(title=escape(title), title_justify="left", box=SIMPLE)
    for column in table.columns:
        shown.add_column(escape(column.title), justify="left" if column.shown_as == "text" else "right", no_wrap=True)
    for row in [*table.rows, *([last] if last else [])]:
        if row is last:
            shown.add_section()
        values = [(row.get(column.name), column.shown_as) for column in table.columns]
        shown.add_row(*("" if value is None else escape(show(value, how)) for value, how in values))
    console().print(shown)
