"""Exact resume: however often and wherever a study is killed, its trials are those of a run that was not."""

from __future__ import annotations

import importlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secateur.errors import StudyError
from secateur.search.base import Searcher
from secateur.study import RunLock, Stop, Store, create_store, open_store
from secateur.study.database import Database
from secateur.study.memory_store import MemoryStore
from secateur.testing import toy_study as toys

pytestmark = pytest.mark.slow

TRIALS = 30


class Killed(BaseException):
    """Death at one point: no handler of the loop sees it as an error."""


def uninterrupted(trials: int) -> list[tuple[Any, ...]]:
    store = MemoryStore()
    toys.study(store).run(Stop(trials=trials))
    return toys.story(store)


def test_killed_at_every_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every transaction dies before, in or after it took effect, every evaluation before it, each in a study of its own."""
    wanted = uninterrupted(5)
    assert any(row[1] is None for row in wanted)
    point = deaths = 0
    write = Database.write

    def study_until_killed(store: Store, at: int) -> bool:
        passed = 0

        def step() -> None:
            nonlocal passed
            passed += 1
            if passed == at:
                raise Killed

        def dying(database: Database, work: Callable[[Any], Any], **options: Any) -> Any:
            def halfway(connection: Any) -> Any:
                found = work(connection)
                step()  # all is written and nothing is committed
                return found

            step()
            found = write(database, halfway, **options)
            step()
            return found

        with monkeypatch.context() as patch:
            patch.setattr(Database, "write", dying)
            try:
                toys.study(store, error=toys.Error(before=lambda architecture: step())).run(Stop(trials=5))
            except Killed:
                return True
        return False

    while True:
        point += 1
        path = tmp_path / f"{point}.db"
        create_store(path).close()
        with open_store(path) as store:
            killed = study_until_killed(store, point)
        deaths += killed
        if killed:
            with open_store(path) as store:  # and once more, two steps on
                study_until_killed(store, 3)
        with open_store(path) as store:
            toys.study(store).run(Stop(trials=5))
            assert toys.story(store) == wanted, f"killed at point {point}"
        if not killed:
            break
    assert deaths >= (2 * 3 + 1) * 5


@pytest.mark.parametrize("name", ["Learner", "Decliner", "random.Random", "local.LocalSearch", "mo_rea.MoRea"])
def test_stopped_and_resumed_many_times(tmp_path: Path, name: str) -> None:
    module, _, kind_name = name.rpartition(".")
    kind: type[Searcher] = getattr(importlib.import_module(f"secateur.search.{module}") if module else toys, kind_name)
    with create_store(tmp_path / "whole.db") as whole, create_store(tmp_path / "parts.db") as parts:
        toys.study(whole, kind).run(Stop(trials=20))
        for trials in range(1, 21):
            toys.study(parts, kind).run(Stop(trials=trials))
        assert toys.story(parts) == toys.story(whole)


def test_sigkill(tmp_path: Path) -> None:
    wanted = uninterrupted(TRIALS)
    folder = tmp_path / "run"
    folder.mkdir()
    chance = random.Random(5)
    kills = 0
    for _ in range(60):
        command = [sys.executable, "-m", "secateur.testing.toy_study", str(folder), str(TRIALS), "0"]
        paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths})
        assert child.stdout is not None
        lines = chance.randint(1, 10)
        finished = False
        for line in child.stdout:
            lines -= 1
            finished = line == "done\n"
            if lines == 0 or finished:
                break
        if kills == 0 and not finished:  # a second process is refused while the first is at work
            with pytest.raises(StudyError, match=f"in use by process {child.pid}"), RunLock(folder):
                pass
        if not finished:
            child.send_signal(signal.SIGKILL)
            kills += 1
        child.wait()
        child.stdout.close()
        if finished:
            assert child.returncode == 0
            break
    assert kills >= 4
    with open_store(folder / "study.db") as store:
        assert toys.story(store) == wanted
    events = [e["event"] for e in toys.read_log(folder / "log.jsonl")]
    assert events.count("resumed") >= 3
    assert events.count("trial") >= TRIALS - kills
