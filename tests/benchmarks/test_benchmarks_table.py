"""The table in the benchmarks' README is that of what was measured, of every script."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "table.py"))


def test_the_readme_shows_what_was_measured(table):
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert table["table"]() in page, "python benchmarks/table.py"


def test_every_script_was_measured_in_full(table):
    found = table["lines"](FOLDER / "measured.jsonl")
    scripts = {path.stem for path in FOLDER.glob("*.py")} - {"free", "measuring", "table"}
    assert {line["script"] for line in found} == scripts
    assert not any("quick" in line for line in found)
    for line in found:
        if line["target"] is not None:
            better = line["ratio"] >= line["target"] if line["at_least"] else line["ratio"] <= line["target"]
            assert line["passed"] is better, line["name"]


def test_what_the_guide_says_of_a_search(table):
    (line,) = (line for line in table["lines"](FOLDER / "measured.jsonl") if "search_seconds" in line)
    assert line["search_seconds"] < 60
    guide = (FOLDER.parent / "docs" / "how-to" / "design.md").read_text(encoding="utf-8")
    assert "less than a minute for the search itself" in guide


def test_a_script_measured_again_replaces_its_lines(table, tmp_path):
    where = {"device": "cpu", "torch": "2", "transformers": "5", "date": "2026-01-01"}

    def line(script: str, name: str, **more: object) -> str:
        told = {"name": name, "ratio": 1.5, "target": 2.0, "passed": True, "at_least": False}
        return json.dumps({**told, **more, "script": script, **where}) + "\n"

    kept, printed = tmp_path / "measured.jsonl", tmp_path / "printed"
    kept.write_text(line("b", "stays") + line("c", "goes") + line("c", "goes too"), encoding="utf-8")
    new = line("c", "comes", ratio=1234.4, target=2000, passed=False, at_least=True, standard_error=0.1234)
    printed.write_text("words before\n" + new + line("a", "first", target=None, lowest=1, highest=2, by_arithmetic=1.41))
    table["take"](printed, kept)
    assert table["table"](kept).splitlines()[4:] == [
        "| first | – | 1.50 | 1 to 2 | by arithmetic 1.41 | `a.py` |",
        "| stays | ≤ 2 | **1.50** |  |  | `b.py` |",
        "| comes | ≥ 2000 | **1,234, missed** | ± 0.123 |  | `c.py` |",
    ]
    printed.write_text(line("a", "toy", quick=True))
    with pytest.raises(SystemExit, match="mean nothing"):
        table["take"](printed, kept)
