"""--json and --csv: what every command that takes them prints, and nothing else."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secateur.catalogue import find, names
from secateur.cli import app
from secateur.runs.folder import open_run
from secateur.runs.tables import TABLES


def told(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


TELLING = [name for name in names("verb") if hasattr(find("verb", name), "tells")]


def test_who_tells() -> None:
    assert {"front", "report", "measure", "bench proxies"} <= set(TELLING)
    for name in names("verb"):
        text = told(*name.split(), "--help")
        assert ("--json" in text and "--csv" in text) == (name in TELLING)


def test_one_form_at_a_time(pruned: Path) -> None:
    result = CliRunner().invoke(app, ["front", str(pruned), "--json", "--csv"])
    assert result.exit_code == 2
    assert result.stderr == "secateur: give --json or --csv, not both.\n"
    assert not result.stdout


def test_front(pruned: Path) -> None:
    run = open_run(pruned)
    found = json.loads(told("front", pruned, "--json"))
    assert [row["key"] for row in found] == [member.key for member in run.front]
    for row, member in zip(found, run.front, strict=True):
        gain = member.gain.as_dict()
        assert {name: row[name] for name in gain if name not in member.values} == pytest.approx(
            {name: value for name, value in gain.items() if name not in member.values}
        )
        assert {name: row[name] for name in member.values} == dict(member.values)
        assert row["weights"] == member.weights
        assert row["choices"] == {n: list(v) if isinstance(v, tuple) else v for n, v in member.architecture.choices}
        assert 0 <= row["body_parameters_share"] <= 1
    assert all(name == name.lower() and " " not in name for row in found for name in row)
    as_text = rows(told("front", pruned, "--csv"))
    assert [float(row["latency"]) for row in as_text] == [row["latency"] for row in found]


def test_a_choice_and_a_price(pruned: Path) -> None:
    best = open_run(pruned).front.best(under={"body_parameters": "50%"})
    (row,) = json.loads(told("front", pruned, "--under", "body_parameters=50%", "--json"))
    assert row["key"] == best.key
    speed = f"{0.9 * max(m.gain.speedup for m in open_run(pruned).front):.2f}"
    (row,) = json.loads(told("front", pruned, "--for", f"{speed}x", "--json"))
    assert row["asked_speedup"] == float(speed) <= row["speedup"]
    (line,) = rows(told("front", pruned, "--for", f"{speed}x", "--csv"))
    assert line["key"] == row["key"]


def test_front_of_a_design_run(designed: Path) -> None:
    found = json.loads(told("front", designed, "--json"))
    members = list(open_run(designed).front)
    assert [row["key"] for row in found] == [m.key for m in members]
    assert [row["decoder_parameters"] for row in found] == [m.values["decoder_parameters"] for m in members]
    assert all(row["latency_measured"] and isinstance(row["choices"]["heads"], list) for row in found)


def test_tables_of_a_report(pruned: Path, designed: Path) -> None:
    for folder in (pruned, designed):
        before = (folder / "report.html").stat().st_mtime_ns
        found: dict[str, Any] = json.loads(told("report", folder, "--json"))
        assert set(TABLES) <= set(found)
        assert found["front"] == json.loads(told("front", folder, "--json"))
        assert len(found["trials"]) == len(open_run(folder).trials)
        assert found["stages"][-1]["stage"] == "report"
        assert found["hypervolume"]
        trials = rows(told("report", folder, "--csv", "--table", "trials"))
        assert [row["key"] for row in trials] == [row["key"] for row in found["trials"]]
        assert set(json.loads(told("report", folder, "--json", "--table", "stages"))) & set(TABLES) == {"stages"}
        assert rows(told("report", folder, "--csv"))[0]["key"] == found["front"][0]["key"]
        assert (folder / "report.html").stat().st_mtime_ns == before  # tables are told, the page is left as it is
    assert json.loads(told("report", pruned, "--json"))["curves"]
    assert json.loads(told("report", designed, "--json"))["baselines"][0]["latency"] > 0


def test_a_table_is_for_programs(pruned: Path) -> None:
    for arguments, said in ((["--table", "trials"], "add one of them"), (["--csv", "--table", "trails"], "`trials`")):
        result = CliRunner().invoke(app, ["report", str(pruned), *arguments])
        assert result.exit_code == 2
        assert said in result.stderr


def test_measure(model_folder: Path) -> None:
    given = ["measure", model_folder, "--length", "8", "--seconds", "0.05"]
    found = json.loads(told(*given, "--json"))
    assert found["parameters"] > 0
    assert 0 < found["latency"]["median"] < 10  # seconds
    (row,) = rows(told(*given, "--csv"))
    assert float(row["memory_peak"]) == found["memory"]["peak"]
    shown = told(*given)
    assert max(len(line) for line in shown.splitlines()[1:]) <= 60


def test_an_ascii_terminal_gets_utf8(pruned: Path) -> None:
    """And nothing else is printed: what comes through a pipe is JSON from its first byte to its last."""
    found = CliRunner(charset="ascii").invoke(app, ["report", str(pruned), "--json"], catch_exceptions=False)
    assert found.exit_code == 0
    assert "×" in json.loads(found.stdout_bytes.decode("utf-8"))["summary"]
