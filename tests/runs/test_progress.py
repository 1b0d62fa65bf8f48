"""Progress where there is no terminal, on one, and what is published."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from secateur.runs.progress import Moment, Progress
from secateur.runs.timing import Effort


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def train(progress: Progress, clock: Clock, steps: int = 10, seconds: float = 6.0) -> None:
    with progress.stage("train"), progress.bar("training (full)") as advance:
        for step in range(1, steps + 1):
            clock.now += seconds
            advance(step, steps, 1 / step)


def test_lines_now_and_then_without_a_terminal(capsys):
    clock = Clock()
    progress = Progress(clock=clock)
    progress.plan({"train": Effort(100), "search": Effort(100)}, lambda moment: None)
    train(progress, clock)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "training (full): 50 % · loss 0.200 · stage 0:30 left · run about 2 min left",
        "training (full): 100 % · loss 0.100 · run about 1 min left · took 1:00",
    ]


def test_no_control_characters_in_a_file_even_where_colour_is_forced():
    code = "from secateur.runs.progress import Progress\np = Progress()\np.say('[bold]x')\nwith p.bar('b') as a: a(1, 1)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "FORCE_COLOR": "1"}
    )
    assert done.stderr.splitlines() == ["[bold]x", "b: 1 of 1 · took 0:00"]


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_all_of_it_in_one_line(columns):
    code = (
        "from secateur.runs.progress import *\nfrom secateur.runs.timing import *\n"
        "class C:\n    now = 0.0\n    def __call__(self): return self.now\n"
        "c = C(); p = Progress(clock=c)\np.plan({'a': Effort(100), 'b': Effort(1000)}, lambda m: None)\n"
        "with p.stage('a'), p.bar('training (standard)') as advance:\n"
        "    for i in range(3):\n        c.now += 5; advance(i + 1, 10, 0.4124)\n"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:
            break
    os.close(ours)
    text = shown.decode()
    assert "30 % · loss 0.412 · stage 0:35 left · run about 9 min left" in text
    assert ("━" in text) == (columns > 100)


def test_nothing_is_shown_but_published_all_the_same(capsys):
    clock = Clock()
    progress = Progress(False, clock)
    seen: list[Moment] = []
    progress.plan({"train": Effort(100)}, seen.append)
    train(progress, clock, steps=20, seconds=0.5)
    assert capsys.readouterr().err == ""
    assert [moment.done for moment in seen] == [4, 8, 12, 16, 20]
    assert seen[1].as_dict()["losses"] == [[step, 1 / step] for step in range(1, 9)]
    assert seen[1].as_dict()["text"] == "40 % · loss 0.125 · stage 0:06 left · run about 5 s left"


def test_a_run_knows_how_long_it_will_take(tmp_path, quick_prune, brief, monkeypatch):
    """In every stage the time left of the whole run is known as soon as one pace is."""
    from secateur.runs import progress, stages

    seen: list[Moment] = []
    keep = stages.Work._publish
    monkeypatch.setattr(progress, "PUBLISHED", 0.0)
    monkeypatch.setattr(stages.Work, "_publish", lambda work, moment: (seen.append(moment), keep(work, moment)))
    run = quick_prune(tmp_path / "prune")
    assert run.store.get_meta("progress") is None  # a finished run is nowhere
    assert {m.title for m in seen} == {
        "training (standard)",
        "scoring heads and units",
        "choosing masks",
        "training (full)",
        "searching (local)",
        "polishing for 50% (1 of 2)",
        "polishing for 90% (2 of 2)",
        "scoring on test data",
        "measuring on this machine",
    }
    assert [m.run_left is not None for m in seen] == [False, *[True] * (len(seen) - 1)]
    assert all(m.left <= m.run_left for m in seen[1:])


def test_a_design_run_plans_all_its_stages(designed):
    from secateur.runs.design.stages import DesignWork
    from secateur.runs.folder import open_run

    work = DesignWork(open_run(designed), Progress(False))
    assert [stage.name for stage in work.stages()] == list(work.efforts())
    assert all(effort.seconds > 0 for effort in work.efforts().values())
