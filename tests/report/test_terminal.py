from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from secateur.report import terminal
from secateur.report.terminal import console, echo, plain, room, say


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


def test_on_a_terminal_lines_break_between_words_but_not_what_is_copied(monkeypatch, capsys):
    assert room() is None
    say("many words " * 20)
    assert len(capsys.readouterr().out.splitlines()) == 1
    shown = io.StringIO()
    made = Console(file=shown, width=40, force_terminal=True, highlight=False)
    monkeypatch.setattr(terminal, "console", lambda: made)
    assert room() == 40
    say("many words " * 20)
    say("a/path/that/is/longer/than/what/a/terminal/so/narrow/can/show", whole=True)
    *lines, path = shown.getvalue().splitlines()
    assert all(line.rstrip().endswith(("many", "words")) and len(line) <= 40 for line in lines)
    assert path == "a/path/that/is/longer/than/what/a/terminal/so/narrow/can/show"
