"""Where a run is, seen from another process: its store and its lock are read, nothing is written."""

from __future__ import annotations

import platform
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from secateur.runs.folder import PROGRESS, RunFolder
from secateur.runs.timing import about
from secateur.study import Journal, holder
from secateur.trial import ASKED, Status

#: Seconds without news after which a process on another machine is taken to have ended.
SILENCE = 60.0


@dataclass(frozen=True)
class State:
    """`status`: starting, running, stopped or finished. `text`: how far the stage is, or why it stopped; `seconds`: spent so
    far, of a stage that was resumed those of its last attempt; `left`: to the run's end; `process`: which holds its lock."""

    status: str
    stage: str = ""
    text: str = ""
    seconds: float = 0.0
    left: float | None = None
    process: int | None = None
    trials: int = 0
    wanted: int = 0
    losses: list[list[float]] = field(default_factory=list)
    stages: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "left": None if self.left is None else f"about {about(self.left)} left"}


def state_of(run: RunFolder) -> State:
    """Where an opened run is."""
    rows = Journal(run.store).rows()
    process = holder(run.folder)
    if not rows:
        return State("starting" if process else "stopped", text="nothing has been done yet", process=process)
    last = rows[-1]
    moment: dict[str, Any] = run.store.get_meta(PROGRESS) or {}
    age = time.time() - moment.get("at", 0.0)
    status, text = "stopped", last.reason or ""
    if Journal(run.store).done("report"):
        status = "finished"
    elif last.status != "stopped" and (process or (age < SILENCE and moment.get("host") != platform.node())):
        status = "running"
    now = moment if status == "running" and last.status == "running" and moment.get("at", 0.0) >= last.started else {}
    if now:
        text = f"{now['title']}: {now['text']}"
    left = None if now.get("run_left") is None else max(0.0, now["run_left"] - age)
    until = time.time() if status == "running" else max(moment.get("at", 0.0), last.started)  # or when it was last heard of
    seconds = sum((until - row.started if row.seconds is None else row.seconds) for row in rows)
    ended = sum(t.origin == ASKED and t.id is not None and t.status != Status.RUNNING for t in run.trials)
    stages = [{"name": row.name, "status": row.status, "seconds": row.seconds} for row in rows]
    wanted = run.configuration.wanted or 0
    return State(status, last.name, text, seconds, left, process, ended, wanted, now.get("losses", []), stages)
