"""Tables as text: nothing is cut short on a terminal of any width, and what is piped is plain and whole."""

from __future__ import annotations

from secateur.report.data import Row
from secateur.report.numbers import SPACE, show
from secateur.report.rows import Column, Table
from secateur.report.terminal import console, plain, room, say

#: Between two columns.
GAP = "  "


def fits(table: Table, last: Row | None = None) -> bool:
    """Whether the terminal is as wide as the table."""
    return len(table_blocks(table, last, room())) == 1


def print_table(table: Table, title: str, last: Row | None = None) -> None:
    """Print a table under its title; `last` is set apart at the end."""
    from rich.text import Text

    out, blocks = console(), table_blocks(table, last, room())
    say(plain(title, one_line=True))
    for header, *lines in blocks:
        say()
        out.print(Text(header, style="bold"), soft_wrap=True)
        for line in lines:
            say(line, whole=True)


def table_blocks(table: Table, last: Row | None = None, width: int | None = None) -> list[list[str]]:
    """The table as lines, the header first: numbers to the right, nothing where a value is missing.

    Columns that do not fit into `width` follow in blocks of their own, which begin with the first column again.
    """
    from rich.cells import cell_len

    rows = [*table.rows, *([last] if last else [])]
    cells = [[plain(column.title, one_line=True), *(_cell(row, column) for row in rows)] for column in table.columns]
    widths = [max(map(cell_len, column)) for column in cells]
    blocks = [[0]]
    for i in range(1, len(cells)):
        wanted = sum(widths[j] + len(GAP) for j in blocks[-1]) + widths[i]
        if width is not None and wanted > width and len(blocks[-1]) > 1:
            blocks.append([0])
        blocks[-1].append(i)

    def padded(i: int, line: int) -> str:
        text, space = cells[i][line], " " * (widths[i] - cell_len(cells[i][line]))
        return text + space if table.columns[i].shown_as == "text" else space + text

    found = [[GAP.join(padded(i, line) for i in block).rstrip() for line in range(len(rows) + 1)] for block in blocks]
    return [[*block[:-1], "", block[-1]] if last else block for block in found]


def _cell(row: Row, column: Column) -> str:
    value = row.get(column.name)
    return "" if value is None else plain(show(value, column.shown_as), one_line=True).replace(SPACE, " ")
