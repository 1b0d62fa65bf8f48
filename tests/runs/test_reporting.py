"""What the reports of all runs share: the table on a terminal, and what a page says of a run."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.runs.design.report import DesignReport
from secateur.runs.folder import open_run
from secateur.runs.prune.report import PruneReport
from secateur.runs.reporting import trial_row


def test_the_front_on_a_terminal(pruned: Path, designed: Path) -> None:
    shown = CliRunner().invoke(app, ["front", str(pruned)], env={"COLUMNS": "160"})
    assert shown.exit_code == 0
    for member in open_run(pruned).front:
        assert member.key[:8] in shown.output
    assert "unpruned" in shown.output
    assert "accuracy" in shown.output
    narrow = CliRunner().invoke(app, ["front", str(designed)], env={"COLUMNS": "80"})
    assert all(m.key[:8] in narrow.output for m in open_run(designed).front)
    assert "predicted" in narrow.output
    best = CliRunner().invoke(app, ["front", str(pruned), "--under", "body_parameters=50%"], env={"COLUMNS": "160"})
    assert "The best of" in best.output


def test_a_finished_run_says_where_to_go_on(pruned: Path, designed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PruneReport(open_run(pruned)).show_finished()
    shown = capsys.readouterr().out
    assert f"Report: {pruned / 'report.html'}" in shown
    best = open_run(pruned).headline
    share = best.values["body_parameters"] / open_run(pruned).unpruned["body_parameters"]
    assert shown.startswith(str(best.gain))  # what was gained and what it cost, before anything else
    assert f"secateur export {pruned} --under body_parameters={math.ceil(100 * share)}% --to" in shown
    DesignReport(open_run(designed)).show_finished()
    assert f"secateur train {designed} --key KEY" in capsys.readouterr().out


def test_an_empty_front_is_said(designed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    DesignReport(open_run(designed)).show([])
    assert "has not got so far" in capsys.readouterr().out


def test_what_every_page_says_of_its_run(designed: Path) -> None:
    run = open_run(designed)
    data = DesignReport(run).data()
    assert [row["stage"] for row in data.journal] == ["fit", "search", "measure", "report"]
    assert data.settings["vocabulary"] == 60
    assert data.objectives == ["decoder_parameters", "latency", "memory"]
    assert len(data.trials) == 60  # measurements of the front are no trials
    assert data.latency_model is not None
    assert {row["key"] for row in data.front} == {m.key for m in run.front}


def test_a_trial_as_the_page_lists_it(designed: Path) -> None:
    trial = open_run(designed).trials[0]
    row = trial_row(trial)
    assert (row["number"], row["key"], row["status"], row["origin"]) == (trial.number, trial.key, "complete", "asked")
    assert row["seconds"] >= 0
