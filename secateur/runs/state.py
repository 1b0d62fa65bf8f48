"""Where a run is, seen from another process: its store and its lock are read, nothing is written."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from secateur.runs.folder import PROGRESS, RunFolder
from secateur.runs.timing import about
from secateur.study import Journal
from secateur.trial import ASKED, Status

#: Seconds without news after which a process that cannot be seen (on another machine, say) is taken to have ended.
SILENCE = 60.0


@dataclass(frozen=True)
class State:
    """`status`: starting, running, stopped or finished. `text`: how far the stage is; `left`: seconds to the run's end."""

    status: str
    stage: str = ""
    text: str = ""
    left: float | None = None
    trials: int = 0
    wanted: int = 0
    losses: list[list[float]] = field(default_factory=list)
    stages: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "left": None if self.left is None else f"about {about(self.left)} left"}


def state_of(run: RunFolder) -> State:
    """Where an opened run is."""
    rows = Journal(run.store).rows()
    if not rows:
        return State("starting" if _at_work(run.folder) else "stopped", text="nothing is done yet")
    last = rows[-1]
    moment: dict[str, Any] = run.store.get_meta(PROGRESS) or {}
    age = time.time() - moment.get("at", 0.0)
    status, text = "stopped", last.reason or ""
    if any(row.name == "report" and row.status == "done" for row in rows):
        status = "finished"
    elif last.status != "stopped" and (age < SILENCE or _at_work(run.folder)):
        status = "running"
    now = moment if status == "running" and last.status == "running" and moment.get("at", 0.0) >= last.started else {}
    if now:
        text = f"{now['title']}: {now['text']}"
    left = None if now.get("run_left") is None else max(0.0, now["run_left"] - age)
    ended = sum(t.origin == ASKED and t.id is not None and t.status != Status.RUNNING for t in run.trials)
    stages = [{"name": row.name, "status": row.status, "seconds": row.seconds} for row in rows]
    wanted = getattr(run.configuration, "trials", 0)
    return State(status, last.name, text, left, ended, wanted, now.get("losses", []), stages)


def _at_work(folder: Path) -> bool:
    """Whether the process that last locked the folder is there. The lock itself is left alone."""
    try:
        return psutil.pid_exists(int((folder / "lock").read_text()))
    except (OSError, ValueError, OverflowError):
        return False
