"""Tasks in processes of their own: what comes back, what is printed, and who dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import secateur
from secateur.errors import StudyError
from secateur.runs.bench import searching, workers
from secateur.runs.bench.workers import side_by_side

PARTIAL = "functools:partial"


def test_each_task_comes_back_with_its_place() -> None:
    found = dict(side_by_side("operator:itemgetter", 1, [(0, place**2) for place in range(7)], 3))
    assert found == {place: place**2 for place in range(7)}


def test_workers_have_one_thread() -> None:
    threads = dict(side_by_side(PARTIAL, os.getenv, ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"], 1))
    assert list(threads.values()) == ["1", "1", "1"]


def test_what_is_printed_is_no_answer() -> None:
    assert list(side_by_side(PARTIAL, print, ["hello"], 1)) == [(0, None)]


def test_an_error_is_raised_here() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(side_by_side(PARTIAL, int, ["1", "x"], 2))


def test_who_dies_is_said() -> None:
    with pytest.raises(StudyError, match="a worker process ended \\(exit code 3\\)"):
        list(side_by_side(PARTIAL, os._exit, [3], 1))


def test_who_died_before_a_task_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as a broken pipe, which a command takes for a reader of its output who has seen enough."""
    monkeypatch.setattr(workers, "_CODE", "raise SystemExit(4)")
    worker = workers._Worker(PARTIAL, str)
    worker._process.wait()
    with pytest.raises(StudyError, match="a worker process ended \\(exit code 4\\)"):
        worker.begin(0, "x")
    worker.end()


def test_who_is_killed_loses_only_what_was_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after a few searches: they are there, the others are run, and the rows are those of a run that nobody stopped."""
    given = {"table": ["prune-sst2"], "searcher": ["random"], "seeds": 12, "queries": 3, "workers": 1, "progress": False}
    slow = (
        "import time, secateur\n"
        "from secateur.runs.bench.searching import Search\n"
        "run = Search.run\n"
        "Search.run = lambda search: time.sleep(0.2) or run(search)\n"
        f"secateur.bench_search(**{given!r}, to={str(tmp_path / 'killed')!r})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", slow])
    lines = tmp_path / "killed" / "searches.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (lines.is_file() and lines.read_text().count("\n") >= 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = lines.read_text().count('["')
    assert 3 <= kept < 12
    run, again = searching.Search.run, []
    monkeypatch.setattr(searching.Search, "run", lambda search: again.append(search.seed) or run(search))
    resumed = secateur.bench_search(**given, to=tmp_path / "killed").frame
    assert len(again) == 12 - kept
    whole = secateur.bench_search(**given, to=tmp_path / "whole").frame
    assert resumed["key"].tolist() == whole["key"].tolist()
    assert not lines.exists()
