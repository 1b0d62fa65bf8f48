from __future__ import annotations

import os
import subprocess
import sys

import pytest

from secateur.report.numbers import SPACE
from secateur.report.rows import Column, Table
from secateur.report.terminal import console, echo, plain, print_table

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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a [bold]name[/bold] × 3 ✓", "a [bold]name[/bold] × 3 ✓"),
        ("\x1b[31mred\x07\r", r"\x1b[31mred\x07\r"),
        ("not UTF-8: \udcff", r"not UTF-8: \udcff"),
        ("turned \u202eaway", r"turned \u202eaway"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_nothing_steers_the_terminal(text, shown, capsys):
    assert plain(text) == shown
    echo(text)
    console().print(text, soft_wrap=True)
    assert capsys.readouterr().out == f"{shown}\n{shown}\n"
    assert "\n" not in plain(text, one_line=True)


def test_names_in_tables_steer_nothing_either(printed):
    lines = printed(Table([Column("key", "[red]key")], [{"key": "[b]\x1b[31m\n"}]), "of \x1b[0m")
    assert lines == ["of \\x1b[0m", "", "[red]key", "─" * 15, "[b]\\x1b[31m\\n", ""]


def test_an_ascii_terminal_gets_what_it_can_show(designed, tmp_path):
    """In a process of its own: after a finished run, in errors, in help."""
    said = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "120"}
    code = (
        "import sys; from secateur.cli import app, main\n"
        "for words in sys.argv[1].split('|'):\n"
        "    sys.argv[1:] = words.split()\n"
        "    try: main()\n"
        "    except SystemExit as end: print('ended', end.code)\n"
    )
    words = f"front {designed}|front {tmp_path}/ümlaut…|prune --help-all|measure {tmp_path} --length 0"
    done = subprocess.run([sys.executable, "-c", code, words], capture_output=True, env=said, timeout=120, check=True)
    out, err = done.stdout.decode("ascii"), done.stderr.decode("ascii")
    assert [line for line in out.splitlines() if line.startswith("ended")] == ["ended 0", "ended 2", "ended 0", "ended 2"]
    assert "there is no run folder" in err
    assert "?mlaut..." in err
