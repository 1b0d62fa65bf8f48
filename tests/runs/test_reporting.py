"""What the reports of all runs share: the table on a terminal, and what a page says of a run."""

from __future__ import annotations

import math
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.runs.design.report import DesignReport
from secateur.runs.design.run import DesignRun
from secateur.runs.folder import PROGRESS, open_run
from secateur.runs.prune.report import PruneReport
from secateur.runs.reporting import trial_row
from secateur.study import Journal, StageRow


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
    assert "has no results yet" in capsys.readouterr().out


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


def as_it_was(finished: Path, to: Path, stage: str) -> Path:
    """A copy of a finished run as it was when it was stopped in a stage."""
    shutil.copytree(finished, to)
    names = [row.name for row in Journal(open_run(finished).store).rows()]
    later = names[names.index(stage) + 1 :]
    with closing(sqlite3.connect(to / "study.db")) as database:
        database.executemany("DELETE FROM stages WHERE name = ?", [(name,) for name in later])
        database.execute("UPDATE stages SET status = 'stopped', reason = 'interrupted' WHERE name = ?", (stage,))
        known = {"measure": ["measured", "timed", "device", "baselines"], "report": ["tests", "unpruned_test"]}
        gone = [fact for name in later for fact in known.get(name, [])]
        if "polish" in later:
            database.execute("DELETE FROM trials WHERE origin = 'polish'")
        if "measure" in later:
            database.execute("DELETE FROM trials WHERE origin = 'measured'")
        if "search" in later:
            database.execute("DELETE FROM trials")
            gone.append("unpruned")
        database.executemany("DELETE FROM meta WHERE key = ?", [(fact,) for fact in gone])
        database.commit()
    return to


@pytest.mark.parametrize("stage", ["train", "search", "polish", "measure", "report"])
def test_a_page_of_an_unfinished_run_says_where_it_is(pruned: Path, tmp_path: Path, stage: str) -> None:
    run = open_run(as_it_was(pruned, tmp_path / "a run", stage))
    report = PruneReport(run)
    assert report.data().unfinished == {
        "stage": stage,
        "progress": "",
        "reason": "interrupted",
        "resume": f"secateur resume '{tmp_path / 'a run'}'",
    }
    page = report.write().read_text(encoding="utf-8")
    assert f"stopped in its stage “{stage}”: interrupted." in page
    assert "in the end" not in page


@pytest.mark.parametrize("stage", ["fit", "search", "measure", "report"])
def test_a_page_of_an_unfinished_design_run(designed: Path, tmp_path: Path, stage: str) -> None:
    report = DesignReport(open_run(as_it_was(designed, tmp_path / "run", stage)))
    page = report.write().read_text(encoding="utf-8")
    assert f"stopped in its stage “{stage}”: interrupted." in page
    assert "in the end" not in page


def test_a_page_of_a_run_at_work_says_how_far_it_is(pruned: Path, tmp_path: Path) -> None:
    run = open_run(as_it_was(pruned, tmp_path / "run", "search"))
    run.store.write_stage(StageRow("search", "running", 1.0))
    moment = {"title": "searching", "text": "3 of 9", "run_left": None, "losses": [], "at": 2.0, "host": "this"}
    run.store.set_meta(PROGRESS, moment)
    found = PruneReport(run).data().unfinished
    assert found is not None
    assert (found["stage"], found["progress"], found["reason"]) == ("search", "3 of 9", "")


def test_the_page_that_a_run_writes_at_its_end_is_a_finished_ones(pruned: Path, designed: Path) -> None:
    for folder, report in ((pruned, PruneReport), (designed, DesignReport)):
        assert "Unfinished" not in (folder / "report.html").read_text(encoding="utf-8")
        assert report(open_run(folder)).data().unfinished is None
        ending = report(open_run(folder), ending=True).data()
        assert ending.unfinished is None
        assert ending.journal[-1]["status"] == "done"
        assert ending.journal[-1]["seconds"] > 0


def test_further_figures_say_which_data_they_are_of(pruned: Path) -> None:
    run = open_run(pruned)
    shown = {name for entry in PruneReport(run).data().front for name in entry["details"]}
    assert {f"{name}, validation" for name in run.task["metrics"]} <= shown
    assert not set(run.task["metrics"]) & shown


def test_trainings_are_shown_in_the_order_they_ran(pruned: Path) -> None:
    run = open_run(pruned)
    names = list(PruneReport(run).data().curves)
    assert names == ["warm-up", "train", *(f"polish {key[:8]}" for key in run.polished)]
    assert sorted(names) != names


def test_the_gain_of_a_designed_network_is_against_the_published_one(designed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(designed)
    assert DesignReport(run).data().published == ""  # only baselines of one and two layers were measured
    row = {**run.baselines[-1], "name": run.published}
    monkeypatch.setattr(DesignRun, "baselines", property(lambda _: [row]))
    data = DesignReport(run).data()
    assert data.published == "GPT-2 small, 12 layers"
    member = run.member(data.front[0]["key"])
    assert data.front[0]["gain"]["speedup"] == row["values"]["latency"] / member.values["latency"]
    assert data.front[0]["gain_text"] == str(member.gain)
    searched = next(iter(run.searched))
    assert searched.gain.predicted
    assert not member.gain.predicted
