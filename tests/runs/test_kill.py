"""kill -9 in every stage, Ctrl-C, two processes on one run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.errors import StudyError
from secateur.runs.prune.run import PruneRun
from secateur.study import RunLock
from secateur.training.trainer import SupernetTrainer
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")

#: A process that has loaded the libraries and forks: each child goes on with the run and kills itself in the middle of a stage.
#: Arguments: the run's settings and folder as JSON.
KILLS = """
import json, os, signal, sys
import secateur.runs.prune.measuring as measuring
import secateur.runs.prune.stages as stages
from secateur.estimators.together import Together
from secateur.runs.reporting import Report
from secateur.training.trainer import SupernetTrainer
from secateur.verbs.prune import prune
from secateur.verbs.resume import resume

settings = json.loads(sys.argv[1])
measuring.SECONDS = 0.05
# stage → where, what, and which of its calls is the last
POINTS = [
    ("train", SupernetTrainer, "training_step", 30),
    ("search", Together, "outcome", 3),
    ("masks", stages, "masks_by_information", 1),
    ("polish", stages, "save_checkpoint", 1),
    ("report", Report, "write", 1),
]
for number, (stage, where, name, last) in enumerate(POINTS):
    child = os.fork()
    if child == 0:
        real, calls = getattr(where, name), 0
        def killed(*given, **options):
            global calls
            calls += 1
            if calls == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **options)
        setattr(where, name, killed)
        prune(**settings) if number == 0 else resume(settings["to"], progress=False)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (stage, status)
"""


def outcome(folder: Path) -> Any:
    run = PruneRun(folder)
    trials = [(t.id, t.origin, t.key, t.status, dict(t.values)) for t in run.trials if t.told is not None]
    return trials, run.unpruned, run.tests, {k: (dict(t.values), dict(t.details)) for k, t in run.polished.items()}


@pytest.mark.slow
def test_killed_in_every_stage_and_resumed(pruned: Path, tmp_path: Path) -> None:
    """It ends with what a run has that was never stopped."""
    folder = tmp_path / "run"
    c = PruneRun(pruned).configuration
    settings = {name: value for name, value in c.as_dict().items() if value != type(c).usual(name) or name == "seed"}
    text = json.dumps({**settings, "to": str(folder), "progress": False})
    found = subprocess.run([sys.executable, "-c", KILLS, text], timeout=400, stderr=subprocess.PIPE)
    assert found.returncode == 0, found.stderr.decode()[-2000:]
    began = [
        row["stage"] for row in map(json.loads, (folder / "log.jsonl").read_text().splitlines()) if row["event"] == "stage"
    ]
    assert began == [
        "warm-up",
        "order",
        "train",
        "train",
        "search",
        "search",
        "masks",
        "masks",
        "polish",
        "polish",
        "measure",
        "report",
    ]
    resume(folder, progress=False).close()
    assert outcome(folder) == outcome(pruned)


#: Children that go on with a run of `standard` and kill themselves after so many training steps, until one ends.
TRAINED = """
import json, os, signal, sys
import secateur.training.fine_tune as fine_tune
from secateur.verbs.prune import prune
from secateur.verbs.resume import resume

settings = json.loads(sys.argv[1])
for number in range(40):
    child = os.fork()
    if child == 0:
        real, calls = fine_tune.FineTuneTrainer.training_step, 0
        def killed(*given, **options):
            global calls
            calls += 1
            if calls == 6:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **options)
        fine_tune.FineTuneTrainer.training_step = killed
        prune(**settings) if number == 0 else resume(settings["to"], progress=False)
        os._exit(0)
    if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        break
print(number)
"""


@pytest.mark.slow
@pytest.mark.parametrize("searcher", ["random", "mo-asha"])
def test_candidates_that_are_trained_are_killed_in_the_middle(
    quick_prune: Any, pruned: Path, tmp_path: Path, searcher: str
) -> None:
    """Time and again by SIGKILL: the trials, their rungs and values are those of a run that was never stopped."""
    options = {"method": "standard", "searcher": searcher, "trials": 5, "trial_epochs": 2.0}
    options |= {"r_min": 0.5, "eta": 2} if searcher == "mo-asha" else {}
    options |= {"epochs": 1.0, "polish": False, "measure": False}
    whole = quick_prune(tmp_path / "whole", **options)
    c = whole.configuration
    settings = {name: value for name, value in c.as_dict().items() if value != type(c).usual(name) or name == "seed"}
    text = json.dumps({**settings, "to": str(tmp_path / "run"), "progress": False})
    found = subprocess.run([sys.executable, "-c", TRAINED, text], timeout=400, capture_output=True)
    assert found.returncode == 0, found.stderr.decode()[-2000:]
    assert int(found.stdout) >= 2
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_ctrl_c_says_how_to_go_on(model_folder: Path, data_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = SupernetTrainer.training_step

    def interrupted(self: Any, *given: Any, **options: Any) -> Any:
        if self.state.global_step == 3:
            raise KeyboardInterrupt  # as the signal does, but where a shell began this process in the background
        return real(self, *given, **options)

    monkeypatch.setattr(SupernetTrainer, "training_step", interrupted)
    given = ["--model", str(model_folder), "--data", str(data_file), "--text", "review", "--label", "verdict"]
    given += ["--max-length", "16", "--device", "cpu", "--to", str(tmp_path / "run"), "--quiet"]
    found = CliRunner().invoke(app, ["prune", *given])
    assert found.exit_code == 130
    assert f"secateur resume {tmp_path / 'run'}" in " ".join(found.stderr.split())
    assert "Traceback" not in found.stderr


def test_two_processes_on_one_run_are_refused(pruned: Path) -> None:
    with RunLock(pruned), pytest.raises(StudyError, match="in use"):
        resume(pruned, progress=False)
