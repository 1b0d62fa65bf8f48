from __future__ import annotations

import io

import pytest
from rich.console import Console

from secateur.report import terminal, text_table
from secateur.report.rows import Column, Table
from secateur.report.text_table import fits, print_table, table_blocks

COLUMNS = [Column("key", "key"), Column("latency", "latency", "seconds"), Column("body", "body", "share")]
ROWS = [{"key": "[a]", "latency": 0.0123, "body": 0.5}, {"key": "b", "body": "10 %", "more": 1}]
WIDE = Table([Column(str(i), f"column {i}", "score") for i in range(9)], [{str(i): i / 7 for i in range(9)}])


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> io.StringIO:
    shown = io.StringIO()
    made = Console(file=shown, width=width, force_terminal=True, highlight=False, emoji=False)
    for module in (terminal, text_table):
        monkeypatch.setattr(module, "console", lambda: made)
    return shown


def test_numbers_stand_to_the_right_and_a_last_row_apart():
    assert table_blocks(Table(COLUMNS, ROWS)) == [["key  latency    body", "[a]  12.3 ms  50.0 %", "b               10 %"]]
    (lines,) = table_blocks(Table(COLUMNS, ROWS[:1]), {"key": "whole", "body": 1.0})
    assert lines == ["key    latency     body", "[a]    12.3 ms   50.0 %", "", "whole           100.0 %"]


@pytest.mark.parametrize("width", [200, 80, 60, 30])
def test_nothing_is_cut_at_any_width(width):
    blocks = table_blocks(WIDE, None, width)
    assert max(len(line) for block in blocks for line in block) <= width
    assert len({len(block) for block in blocks}) == 1  # a line per row
    numbers = [number for block in blocks for number in block[1].split()[0 if block is blocks[0] else 1 :]]
    assert numbers == [f"{i / 7:.4f}" for i in range(9)]  # all of them, once, the first again in every block
    assert (len(blocks) == 1) == (width == 200)


def test_piped_text_is_plain_and_as_wide_as_it_has_to_be(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    print_table(WIDE, "Nine [columns] of :smile:")
    assert fits(WIDE)
    shown = capsys.readouterr().out
    assert shown.splitlines() == ["Nine [columns] of :smile:", "", *table_blocks(WIDE)[0]]
    assert len(shown.splitlines()[-1]) > 70


def test_a_narrow_terminal_gets_blocks(monkeypatch):
    shown = on_a_terminal(monkeypatch, 40)
    assert not fits(WIDE)
    print_table(WIDE, "Nine columns that are told of in more words than go into a line")
    lines = shown.getvalue().splitlines()
    plain = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in lines]
    assert max(map(len, plain)) <= 40
    assert "…" not in shown.getvalue()
    assert sum("column 0" in line for line in lines) == len(table_blocks(WIDE, None, 40)) > 1


def test_names_in_tables_steer_nothing(capsys):
    print_table(Table([Column("key", "[red]key")], [{"key": "[b]\x1b[31m\n"}]), "of \x1b[0m")
    assert capsys.readouterr().out.splitlines() == ["of \\x1b[0m", "", "[red]key", "[b]\\x1b[31m\\n"]
