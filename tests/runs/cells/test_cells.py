"""Runs of `secateur cells` on digits: what they leave, how they are shown, killed in every stage and resumed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from secateur.architecture import Architecture
from secateur.cells.files import load_network
from secateur.cli import app
from secateur.errors import ConfigurationError, StudyError
from secateur.report import render
from secateur.runs.cells.run import CellsRun
from secateur.runs.folder import open_run
from secateur.runs.reporting import report_of
from secateur.runs.status import status_of_run
from secateur.runs.tables import TABLES, RunTables
from secateur.spaces.cells import Darts
from secateur.study import Journal
from secateur.tasks import load_images
from secateur.training.images import score_images
from secateur.verbs.cells import find_cells
from secateur.verbs.resume import resume

TINY: dict[str, Any] = {
    "data": "digits",
    "max_train": 48,
    "max_validation": 32,
    "max_test": 32,
    "batch": 16,
    "channels": 2,
    "nodes": 1,
    "epochs": 2,
    "warm_up": 1,
    "mask_epochs": 2,
    "tune_epochs": 1,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> CellsRun:
    run: CellsRun = find_cells(**TINY, controls=True, to=tmp_path_factory.mktemp("runs") / "cells", progress=False)
    return run


def test_what_a_run_leaves(found: CellsRun) -> None:
    names = [row["network"] for row in found.networks]
    assert names == ["super-network", "derived", "fine-tuned", "random weights", "random cells"]
    (member,) = found.front
    assert member.values["parameters"] <= member.values["stored_parameters"] < found.unpruned["stored_parameters"]
    network = member.load()
    data = load_images("digits", max_train=48, max_validation=32, max_test=32)
    assert score_images(network, data, "test") == member.test
    assert score_images(network, data, "validation")["accuracy"] == pytest.approx(1 - member.values["error"])
    kept = json.loads((member.folder / "cells.json").read_text())
    assert kept["parameters"] == member.values["parameters"]
    assert kept["labels"] == list(data.label_names)
    assert torch.allclose(torch.tensor(kept["images"]["mean"]), data.mean)
    assert Architecture.from_dict(kept["architecture"]) == member.architecture
    assert (member.folder / "cells.svg").read_text() == member.drawing()
    # Masked weights stay so while the others are fine-tuned.
    derived = load_network(found.folder / "derived")
    assert derived.count() == network.count()
    assert derived.architecture == network.architecture


def test_what_is_shown(found: CellsRun, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(found)
    report.show_finished()
    said = capsys.readouterr().out
    assert all(word in said for word in ("super-network", "fine-tuned", "random cells", "How much edges count"))
    page = render(report.data())
    assert "<svg" in page
    assert "var(--muted" in page
    tables = RunTables(found)
    assert tables.as_dict()["front"][0]["test_error"] == pytest.approx(1 - found.front[0].test["accuracy"])  # type: ignore[index]
    assert set(TABLES) <= set(tables.as_dict())
    status = status_of_run(found.folder)
    assert status.state == "finished"
    assert "test error" in status.summary
    assert repr(found).startswith("test error")
    assert "operations" in repr(found.front[0])
    assert report.scored(found.front[0])["test"] == found.front[0].test["accuracy"]  # type: ignore[index]
    assert set(report.conditions()) == {"metric", "data", "network", "device"}


def test_commands_take_it(found: CellsRun) -> None:
    for words in (["front", str(found.folder)], ["front", str(found.folder), "--json"], ["status", str(found.folder)]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["export", str(found.folder), "--to", str(found.folder / "x"), "--key", "a"])
    assert done.exit_code == 2
    assert "is written already, as a folder that loads" in done.output
    done = CliRunner().invoke(app, ["report", str(found.folder), "--formats"])
    assert done.exit_code == 2


def test_a_folder_that_is_taken(found: CellsRun) -> None:
    with pytest.raises(StudyError, match="already exists"):
        find_cells(**TINY, to=found.folder, progress=False)


def test_darts_rule_with_a_single_level_trained_jointly(tmp_path: Path) -> None:
    given = {**TINY, "derivation": "top-2", "encoding": "single-level", "order": "joint"}
    run = find_cells(**given, to=tmp_path / "run", progress=False)
    (member,) = run.front
    assert Darts(nodes=1).contains(member.architecture)
    assert [row["network"] for row in run.networks] == ["super-network", "derived", "fine-tuned"]
    assert run.importance["normal"] == [[1.0, 1.0]]


def test_what_belongs_to_a_run(found: CellsRun) -> None:
    mine = found.front[0].architecture
    assert found.holds(mine)
    assert not found.holds(Architecture("weighted-cells", (("normal", ()), ("reduction", ())), "x"))
    assert not found.holds(Architecture("weighted-cells", mine.choices, "another key"))
    assert not found.holds(Architecture("weighted-cells", (), "x"))


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_cells("digits", cells=2, encoding="no", threshold=1.0, to=tmp_path / "run")
    assert len(caught.value.faults) == 3
    assert not list(tmp_path.iterdir())


#: A process that has loaded the libraries and forks: each child goes on with the run and kills itself at the end of a stage's
#: work, before the journal knows. Arguments: the run's settings as JSON.
KILLS = """
import json, os, signal, sys
import secateur.runs.cells.stages as stages
from secateur.runs.reporting import Report
from secateur.verbs.cells import find_cells
from secateur.verbs.resume import resume

settings = json.loads(sys.argv[1])
work = stages.CellsWork
points = [(work, "supernet"), (stages, "save_network"), (work, "derive"), (work, "tune"), (work, "test"), (Report, "write")]
for number, (where, name) in enumerate(points):
    child = os.fork()
    if child == 0:
        real = getattr(where, name)
        def killed(*given, **options):
            real(*given, **options)
            os.kill(os.getpid(), signal.SIGKILL)
        setattr(where, name, killed)
        find_cells(**settings) if number == 0 else resume(settings["to"], progress=False)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (name, status)
"""


@pytest.mark.slow
def test_killed_in_every_stage_and_resumed(found: CellsRun, tmp_path: Path) -> None:
    settings = {**TINY, "to": str(tmp_path / "run"), "progress": False}
    done = subprocess.run([sys.executable, "-c", KILLS, json.dumps(settings)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run: Any = open_run(tmp_path / "run")
    assert not Journal(run.store).done("report")
    run.close()
    run = resume(tmp_path / "run", progress=False)
    assert run.networks == found.networks[:3]
    mine, theirs = (one.front[0].load().state_dict() for one in (run, found))
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
    assert len(run.trials) == 2
