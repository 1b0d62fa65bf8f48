from __future__ import annotations

import pytest

from secateur.report.numbers import SPACE
from secateur.report.rows import Column, Table
from secateur.report.terminal import print_table

COLUMNS = [Column("key", "key"), Column("latency", "latency", "seconds"), Column("body", "body", "share")]
ROWS = [{"key": "[a]", "latency": 0.0123, "body": 0.5}, {"key": "b", "body": "10 %", "more": 1}]


@pytest.fixture
def printed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def lines(*arguments):
        print_table(*arguments)
        return [line.replace(SPACE, " ").strip() for line in capsys.readouterr().out.splitlines()]

    return lines


def test_a_table_has_its_title_and_numbers_to_the_right(printed):
    assert printed(Table(COLUMNS, ROWS), "Two [networks]") == [
        "Two [networks]",
        "",
        "key   latency     body",
        "────────────────────────",
        "[a]   12.3 ms   50.0 %",
        "b                 10 %",
        "",
    ]


def test_a_last_row_is_set_apart(printed):
    lines = printed(Table(COLUMNS, ROWS[:1]), "One", {"key": "whole", "body": "100 %"})
    assert lines[-4:] == ["[a]     12.3 ms   50.0 %", "", "whole              100 %", ""]


def test_a_wide_table_is_cut_to_the_terminal_and_keeps_a_line_per_row(printed):
    wide = [Column(str(i), f"column number {i}") for i in range(9)]
    lines = printed(Table(wide, [{str(i): "text" for i in range(9)}]), "wide")
    assert max(map(len, lines)) <= 80
    assert len(lines) == 6
