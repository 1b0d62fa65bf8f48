"""`secateur join`: more drivers for the search of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.errors import ConfigurationError, Stopped, StudyError
from secateur.estimators.together import Together
from secateur.runs.folder import open_run
from secateur.study import StageRow
from secateur.trial import Status
from secateur.verbs.join import join
from secateur.verbs.resume import resume

pytestmark = [pytest.mark.usefixtures("brief"), pytest.mark.slow]


@pytest.fixture
def joining() -> Iterator[Callable[[Path], Any]]:
    """Join a run from another process."""
    started: list[subprocess.Popen[str]] = []

    def begin(folder: Path) -> Any:
        command = [sys.executable, "-m", "secateur", "join", str(folder), "--quiet"]
        paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": paths}
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def held_up(monkeypatch: pytest.MonkeyPatch, when: Callable[[int], None]) -> None:
    """Call `when` with the number of evaluations so far, before each but the unpruned network's."""
    real, calls = Together.outcome, 0

    def outcome(self: Together, *given: Any) -> Any:
        nonlocal calls
        calls += 1
        when(calls)
        return real(self, *given)

    monkeypatch.setattr(Together, "outcome", outcome)


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def ended(folder: Path) -> int:
    run = open_run(folder)
    try:
        return sum(t.id is not None and t.status != Status.RUNNING for t in run.store.trials())
    finally:
        run.close()


METHODS = {
    "shared weights": {"polish": False, "measure": False},
    "standard": {"method": "standard", "trial_epochs": 1.0, "polish": False, "measure": False},
}


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_joined_while_it_searches(
    method: str, quick_prune: Any, tmp_path: Path, joining: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run's own process waits at its second trial until another one has done some; then both go on."""
    folder, trials = tmp_path / "run", 8
    drivers: list[Any] = []

    def hold(calls: int) -> None:
        if calls == 2:
            drivers.append(joining(folder))
            wait_for(lambda: ended(folder) >= 4 or drivers[0].poll() is not None)

    held_up(monkeypatch, hold)
    run = quick_prune(folder, trials=trials, **METHODS[method])
    said = drivers[0].communicate(timeout=120)[0]
    assert drivers[0].returncode == 0, said
    asked = [t for t in run.trials if t.id is not None]
    assert sorted(t.id for t in asked) == list(range(trials))
    assert not any(t.status == Status.RUNNING for t in asked)
    assert "Several drivers searched at once: the same seed may find a different front." in run.notes
    assert len(list(folder.glob("log-*.jsonl"))) == 1
    if method == "standard":
        kept = {path.name for path in (folder / "supernet" / "trials").iterdir()}
        assert {m.key for m in run.front} <= kept
        assert not list(folder.glob("supernet/trials/*/training"))
    run.close()


def test_a_run_goes_on_without_a_driver_that_is_killed(
    quick_prune: Any, tmp_path: Path, joining: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch, postgres: str
) -> None:
    folder, trials = tmp_path / "run", 8
    killed = threading.Event()

    def hold(calls: int) -> None:
        if calls == 2:
            driver = joining(folder)
            wait_for(lambda: ended(folder) >= 3 or driver.poll() is not None)
            driver.send_signal(signal.SIGKILL)
            killed.set()

    held_up(monkeypatch, hold)
    run = quick_prune(folder, trials=trials, store=postgres, **METHODS["shared weights"])
    assert killed.is_set()
    asked = [t for t in run.trials if t.id is not None]
    assert sorted(t.id for t in asked) == list(range(trials))
    assert not any(t.status == Status.RUNNING for t in asked)
    run.close()


def test_only_a_search_is_joined(designed: Path, quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StudyError, match=r"the search of .* has ended"):
        join(designed)

    def interrupt(calls: int) -> None:
        if calls == 3:
            raise KeyboardInterrupt

    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        held_up(patch, interrupt)
        with pytest.raises(Stopped):
            quick_design(folder, measure="all", trials=4, objectives=["decoder_parameters", "latency"])
    with pytest.raises(StudyError, match=r"was stopped\. Continue it with: secateur resume"):
        join(folder, progress=False)
    run = open_run(folder)
    rows = {row.name: row for row in run.store.stages()}
    run.store.write_stage(StageRow("search", "running", rows["search"].started))
    with pytest.raises(ConfigurationError, match="cannot be joined when latency is measured"):
        join(folder, progress=False)
    with pytest.raises(ConfigurationError, match="workers"):
        join(folder, progress=False, workers=0)
    run.close()
    refused = CliRunner().invoke(app, ["join", str(tmp_path / "none")])
    assert refused.exit_code == 2
    assert "there is no run folder" in refused.output
    resume(folder, progress=False, unsteady=True).close()


def test_a_run_before_its_search_is_not_joined(quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from secateur.runs.design.stages import DesignWork

    def interrupt(self: DesignWork) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DesignWork, "fit", interrupt)
    with pytest.raises(Stopped):
        quick_design(tmp_path / "run")
    with pytest.raises(StudyError, match="is at the stage `fit`, so there is no search to join yet"):
        join(tmp_path / "run", progress=False)
