"""`secateur compare` on finished runs."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.runs.folder import open_run


def compare(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stderr if code else result.stdout


@pytest.fixture
def two(pruned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A run, and what a run with another seed would be that found the same."""
    other = tmp_path / "prune-002"
    shutil.copytree(pruned, other)
    settings = (other / "config.yaml").read_text(encoding="utf-8")
    (other / "config.yaml").write_text(re.sub(r"^seed: 0$", "seed: 1", settings, flags=re.MULTILINE), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return [pruned, other]


def test_a_table_and_a_page(two: list[Path], tmp_path: Path) -> None:
    shown = compare(*two)
    assert "prune-001" in shown
    assert "Runs that differ only in their seed: mean ± standard deviation" in shown
    assert shown.splitlines()[-1] == "Page: compare.html"
    page = (tmp_path / "compare.html").read_text(encoding="utf-8")
    assert "prune-002" in page
    best = open_run(two[0]).front.best(under={"body_parameters": "50%"})
    assert f"{1 - best.test['error']:.4f}" in shown


def test_for_other_programs(two: list[Path], tmp_path: Path) -> None:
    found = json.loads(compare(*two, "--json"))
    assert not (tmp_path / "compare.html").exists()
    first, second = found["runs"]
    assert (first["seed"], second["seed"]) == (0, 1)
    assert first["hypervolume"] == second["hypervolume"] > 0
    run = open_run(two[0])
    best = run.front.best(under={"body_parameters": "50%"})
    assert (first["key_at_50"], first["score_at_50"]) == (best.key, 1 - best.values["error"])
    assert {m["key"] for m in found["unbeaten"]} == {m.key for m in run.front}
    assert found["groups"][0]["hypervolume_std"] == 0
    assert found["objectives"] == ["error", "body_parameters"]
    rows = list(csv.DictReader(io.StringIO(compare(*two, "--csv", "--to", tmp_path / "here" / "it.html"))))
    assert [row["run"] for row in rows] == ["prune-001", "prune-002"]
    assert (tmp_path / "here" / "it.html").is_file()  # named, so it is written


def test_design_runs(designed: Path, tmp_path: Path) -> None:
    other = tmp_path / designed.name
    shutil.copytree(designed, other)
    found = json.loads(compare(designed, other, "--json"))
    assert len({row["run"] for row in found["runs"]}) == 2  # of one name: told apart by their paths
    assert found["objectives"] == ["decoder_parameters", "latency", "memory"]
    assert found["score"] == "decoder_parameters"


def test_what_cannot_be_compared(two: list[Path], designed: Path, tmp_path: Path) -> None:
    assert "only runs of the same kind can be compared" in compare(two[0], designed, code=2)
    for folders in (two[:1], [two[0], two[0]]):
        assert "two or more runs, each only once" in compare(*folders, code=2)
    (tmp_path / "file").touch()
    assert "cannot be written" in compare(*two, "--to", tmp_path / "file" / "page.html", code=2)


def test_other_objectives_are_said(two: list[Path]) -> None:
    settings = (two[1] / "config.yaml").read_text(encoding="utf-8")
    (two[1] / "config.yaml").write_text(settings.replace("- body_parameters\n", "- parameters\n"), encoding="utf-8")
    found = json.loads(compare(*two, "--json"))
    assert found["objectives"] == ["error", "body_parameters"]
    assert found["notes"][0] == "the runs have different objectives; they are compared by error and body_parameters."
