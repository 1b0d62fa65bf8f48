"""`secateur status`: where a run stands. Nothing in its folder changes, and its lock is left alone."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from secateur.cli import app
from secateur.runs.folder import PROGRESS, open_run
from secateur.settings import MOST_TRIALS
from secateur.study import RunLock, StageRow, create_store, holder

from .test_older_versions import as_before


def inside(folder: Path) -> dict[str, str]:
    """All that lies in a folder. What SQLite's processes share in memory (-shm) is no part of it."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def status(folder: Path, *options: str) -> str:
    before = inside(folder)
    result = CliRunner().invoke(app, ["status", str(folder), *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert inside(folder) == before
    return result.stdout


def told(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(status(folder, "--json"))
    return found


@pytest.fixture
def run(pruned: Path, tmp_path: Path) -> Path:
    """A copy of a run, killed in the middle of its last stage."""
    folder = tmp_path / "run"
    shutil.copytree(pruned, folder)
    (folder / "lock").unlink()
    opened = open_run(folder)
    row = next(row for row in opened.store.stages() if row.name == "report")
    opened.store.write_stage(StageRow("report", "running", row.started))
    opened.close()
    return folder


@pytest.fixture
def moment() -> dict[str, Any]:
    at = {"at": time.time(), "host": platform.node()}
    return {"title": "searching", "text": "5 of 9", "run_left": 600.0, "losses": [], **at}


def test_finished(pruned: Path, designed: Path) -> None:
    for folder, trials, then in ((pruned, 6, "secateur export"), (designed, 60, "secateur train")):
        found = told(folder)
        assert (found["state"], found["done"], found["wanted"]) == ("finished", trials, trials)
        assert found["seconds"] > 0
        assert (found["left"], found["process"]) == (None, None)
        assert then in found["next"][0]
        assert found["stages"][-1]["status"] == "done"
        shown = status(folder)
        assert f"{trials} of {trials} trials" in shown
        assert f"secateur front {folder}" in shown
    assert str(open_run(pruned).headline.gain) in status(pruned)


def test_a_run_that_only_time_ends(run: Path) -> None:
    opened = open_run(run)
    opened.configure(replace(opened.configuration, seconds=60.0, trials=MOST_TRIALS))
    opened.close()
    assert told(run)["wanted"] is None
    assert "\n  6 trials\n" in status(run)


def test_running(run: Path, moment: dict[str, Any]) -> None:
    opened = open_run(run)
    opened.store.set_meta(PROGRESS, moment)
    opened.close()
    with RunLock(run):
        found, shown = told(run), status(run)
    assert (found["state"], found["stage"], found["process"]) == ("running", "report", os.getpid())
    assert 500 < found["left"] <= 600
    assert f"running in the stage report (process {os.getpid()}): searching: 5 of 9" in shown
    assert "about 10 min left" in shown
    assert f"secateur watch {run}" in shown


def test_killed(run: Path, moment: dict[str, Any]) -> None:
    found = told(run)
    assert (found["state"], found["text"], found["process"]) == ("stopped", "its process was killed", None)
    assert f"secateur resume {run}" in found["next"][0]
    assert not (run / "lock").exists()
    opened = open_run(run)
    opened.store.set_meta(PROGRESS, moment)
    opened.close()
    assert told(run)["state"] == "stopped"  # there was news a moment ago, but from a process of this machine that is gone
    opened = open_run(run)
    opened.store.set_meta(PROGRESS, {**moment, "host": "another"})
    opened.close()
    assert told(run)["state"] == "running"


def test_interrupted(run: Path) -> None:
    opened = open_run(run)
    opened.store.write_stage(StageRow("report", "stopped", 100.0, 160.0, reason="interrupted"))
    seconds = sum(row.seconds for row in opened.store.stages())
    opened.close()
    found = told(run)
    assert (found["state"], found["text"]) == ("stopped", "interrupted")
    assert found["seconds"] == pytest.approx(seconds)


def test_a_process_that_is_writing_is_not_disturbed(run: Path, tmp_path: Path) -> None:
    opened = open_run(run)
    opened.store.set_meta("notes", ["written, and not yet in the file itself"])
    assert (run / "study.db-wal").stat().st_size
    assert told(run)["state"] == "stopped"
    killed = tmp_path / "killed"  # what is left where the process is killed now
    shutil.copytree(run, killed)
    opened.store.set_meta("notes", ["and on"])
    opened.close()
    assert told(killed)["state"] == "stopped"
    (killed / "study.db-shm").unlink()
    assert told(killed)["state"] == "stopped"
    assert open_run(killed).notes == ["written, and not yet in the file itself"]


def test_older_runs_stay_as_they_are(run: Path) -> None:
    found = told(as_before(run))
    assert (found["state"], found["done"]) == ("stopped", 6)


def test_a_run_that_has_not_got_as_far_as_its_model(tmp_path: Path, pruned: Path) -> None:
    shutil.copy(pruned / "config.yaml", tmp_path)
    settings = open_run(pruned).store.settings
    with create_store(tmp_path / "study.db", settings) as store:
        found = told(tmp_path)
        assert (found["state"], found["text"], found["done"]) == ("stopped", "nothing has been done yet", 0)
        store.write_stage(StageRow("warm-up", "running", time.time()))
        with RunLock(tmp_path):
            assert (told(tmp_path)["state"], told(tmp_path)["stage"]) == ("running", "warm-up")
            assert status(tmp_path).splitlines()[-1] == f"Follow: secateur watch {tmp_path}"


def test_a_study_elsewhere(run: Path, tmp_path: Path) -> None:
    """As on a server: the run's folder has no study of its own."""
    (run / "study.db").rename(tmp_path / "kept.db")
    settings = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    (run / "config.yaml").write_text(yaml.safe_dump({**settings, "store": f"sqlite:///{tmp_path / 'kept.db'}"}))
    with RunLock(run):
        assert (told(run)["state"], told(run)["stage"]) == ("running", "report")


def test_the_first_moments(tmp_path: Path, pruned: Path) -> None:
    with RunLock(tmp_path):
        assert "running" in status(tmp_path)
        shutil.copy(pruned / "config.yaml", tmp_path)
        assert (told(tmp_path)["state"], told(tmp_path)["verb"]) == ("running", "prune")
    found = told(tmp_path)
    assert (found["state"], found["next"]) == ("stopped", [])
    assert "start again" in found["text"]


def test_what_is_no_run(tmp_path: Path, pruned: Path) -> None:
    def fault(folder: Path) -> str:
        result = CliRunner().invoke(app, ["status", str(folder)])
        assert result.exit_code == 2
        return result.stderr

    assert f"`{tmp_path}` is not a run" in fault(tmp_path)
    assert "there is no run folder" in fault(tmp_path / "none")
    shutil.copy(pruned / "config.yaml", tmp_path)
    (tmp_path / "study.db").write_text("no study")
    assert f"`{tmp_path}/study.db` is damaged" in fault(tmp_path)


def test_an_unfinished_training(tmp_path: Path) -> None:
    begun = tmp_path / "training"
    for step in (9, 10):
        (begun / "steps" / f"checkpoint-{step}").mkdir(parents=True)
        state = {"global_step": step, "max_steps": 40}
        (begun / "steps" / f"checkpoint-{step}" / "trainer_state.json").write_text(json.dumps(state))
    architecture = json.dumps({"space": "decoder", "choices": {"width": 16}, "key": "a"})
    (begun / "settings.json").write_text(json.dumps({"architecture": architecture, "steps": None}))
    found = told(tmp_path)
    assert (found["state"], found["done"], found["wanted"], found["units"]) == ("stopped", 10, 40, "steps")
    assert "`secateur train`" in found["next"][0]
    assert "decoder(width=16)" in status(tmp_path)
    with RunLock(begun):
        assert (told(tmp_path)["state"], told(tmp_path)["process"]) == ("running", os.getpid())
    (begun / "steps" / "checkpoint-10" / "trainer_state.json").write_text('{"global_step": "ten"}')
    assert told(tmp_path)["done"] == 9
    shutil.rmtree(begun / "steps")
    (begun / "settings.json").write_text("cut short")
    assert told(tmp_path)["done"] == 0


def test_a_finished_training(tmp_path: Path) -> None:
    from secateur.decoders.configuration import DecoderGpt2Config

    (tmp_path / "config.json").write_text(json.dumps({"model_type": DecoderGpt2Config.model_type}))
    curve = {"architecture": {"space": "decoder", "choices": {}, "key": "a"}, "steps": 4, "seconds": 2.0, "validation": 30.5}
    (tmp_path / "curve.json").write_text(json.dumps({**curve, "test": None}))
    found = told(tmp_path)
    assert (found["state"], found["done"], found["summary"]) == ("finished", 4, "perplexity 30.50")
    for damage in ({"validation": "good"}, {"architecture": None}, {"steps": "many"}):
        (tmp_path / "curve.json").write_text(json.dumps({**curve, "test": None, **damage}))
        assert (told(tmp_path)["state"], told(tmp_path)["summary"]) == ("finished", "")
    (tmp_path / "curve.json").unlink()  # copied without it: it loads all the same
    assert told(tmp_path)["state"] == "finished"


def test_who_holds_a_lock(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with RunLock(tmp_path):
        assert holder(tmp_path) == os.getpid()
    assert holder(tmp_path) is None  # this process is there, and has let go
    for text in ("", "nobody", "4194305"):
        (tmp_path / "lock").write_text(text)
        assert holder(tmp_path) is None
