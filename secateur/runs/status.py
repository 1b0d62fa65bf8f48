"""Where a run stands and what to do next, for whoever asks. Nothing is written, nobody is kept waiting."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from secateur.catalogue import find
from secateur.errors import StudyError
from secateur.paths import quoted
from secateur.report.data import Row
from secateur.report.numbers import SPACE, show
from secateur.report.terminal import say
from secateur.runs.folder import open_run
from secateur.runs.reporting import report_of
from secateur.runs.settings import FILE, STUDY, verb_of
from secateur.runs.state import state_of
from secateur.runs.timing import about as roughly
from secateur.study import holder, snapshot


@dataclass(frozen=True, kw_only=True)
class Status:
    """`state`: running, stopped or finished. `done` of `wanted` `units` (trials, steps) are done. `seconds` were spent, about
    `left` are to come. `process` holds the lock. `next`: what to do now. None where it is not known."""

    folder: Path
    verb: str
    about: str
    state: str
    next: list[str]
    stage: str | None = None
    text: str = ""
    units: str = "trials"
    done: int | None = None
    wanted: int | None = None
    seconds: float | None = None
    left: float | None = None
    process: int | None = None
    summary: str = ""
    stages: list[Row] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def show(self) -> None:
        for line in self.lines():
            say(line)
        for line in self.next:
            say(line, whole=True)

    def lines(self) -> list[str]:
        """What is known, a line for each."""
        lines = [f"{self.folder}: {self.verb}{', ' if self.about else ''}{self.about}", f"  {self._state()}"]
        if self.done is not None:
            lines.append(f"  {self.done:,} of {self.wanted:,} {self.units}" if self.wanted else f"  {self.done:,} {self.units}")
        if self.seconds is not None:
            left = f", about {roughly(self.left)} left" if self.left is not None else ""
            lines.append(f"  {show(self.seconds, 'seconds').replace(SPACE, ' ')} spent{left}")
        return [*lines, *([f"  {self.summary}"] if self.summary else [])]

    def _state(self) -> str:
        stage = f" in the stage {self.stage}" if self.stage and self.state != "finished" else ""
        who = f" (process {self.process})" if self.process is not None else ""
        return f"{self.state}{stage}{who}" + (f": {self.text}" if self.text else "")


@contextmanager
def looked_at(folder: Path) -> Iterator[Any]:
    """The run in a folder as it is now. It is opened in a copy, which may be brought up to this version."""
    with tempfile.TemporaryDirectory(prefix="secateur-") as name:
        for file, copied in ((FILE, shutil.copyfile), (STUDY, snapshot)):
            if (folder / file).is_file():
                copied(folder / file, Path(name) / file)
        try:
            run = open_run(name)
        except StudyError as error:
            raise StudyError(str(error).replace(name, str(folder))) from error
        run.folder = folder
        try:
            yield run
        finally:
            run.close()


def status_of_run(folder: Path) -> Status:
    """Where the run in a folder stands. Raises StudyError where there is none, or it is damaged."""
    begun, here = (folder / FILE).is_file(), (folder / STUDY).exists()
    if not here and not (begun and find("run", verb_of(folder)).settings.read(folder).store is not None):
        if (process := holder(folder)) is not None:
            return _empty(folder, "running", "it has only just begun", process=process)
        if begun:
            return _empty(folder, "stopped", "it ended before anything was saved: remove the folder and start again")
    with looked_at(folder) as run:
        return _status(run)


def _empty(folder: Path, state: str, text: str, process: int | None = None) -> Status:
    """Of a run that has no study yet."""
    verb = verb_of(folder) if (folder / FILE).is_file() else "a run"
    return Status(folder=folder, verb=verb, about="", state=state, text=text, process=process, next=[])


def _status(run: Any) -> Status:
    found, report, folder = state_of(run), report_of(run), run.folder
    state = "running" if found.status == "starting" else found.status
    step = f"Follow: secateur watch {quoted(folder)}" if state == "running" else f"Resume: secateur resume {quoted(folder)}"
    then = [report.next_step() if state == "finished" else step]
    if any(trial.complete for trial in run.trials):
        then.append(f"Front:  secateur front {quoted(folder)}")
    facts, text = report.facts(), found.text or ("its process was killed" if state == "stopped" else "")
    return Status(
        folder=run.folder,
        verb=run.configuration.verb,
        about=f"{facts['model']} on {facts['data']}" if "model" in facts else run.about,
        state=state,
        next=then,
        stage=found.stage or None,
        text=text,
        done=found.trials,
        wanted=run.configuration.wanted,
        seconds=found.seconds,
        left=found.left,
        process=found.process,
        summary=report.lead() if state == "finished" else "",
        stages=found.stages,
    )
