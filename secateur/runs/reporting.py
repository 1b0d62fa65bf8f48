"""What the reports of all runs share: the page in the run's folder, and the table of its front on a terminal."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from secateur import __version__
from secateur.report import write_report
from secateur.report.data import Row
from secateur.report.rows import Table
from secateur.report.terminal import console, print_table
from secateur.runs.folder import REPORT, RunFolder
from secateur.study import Journal
from secateur.trial import Trial

#: What is said of a front without members.
EMPTY = "The front is empty: the search has not got so far yet."


class Report(ABC):
    """What is shown of a run. A job says what its page holds and what its table's columns are."""

    def __init__(self, run: Any) -> None:
        self.run = run

    @abstractmethod
    def data(self) -> Any:
        """All that the page shows."""

    @abstractmethod
    def table(self, members: Sequence[Any], wide: bool) -> tuple[Table, str, Row | None]:
        """The members as a table with its title and a last row; `wide`: on a terminal of 100 columns or more."""

    @abstractmethod
    def next_step(self) -> str:
        """What to do with a finished run, as a line with a command."""

    def lead(self) -> str:
        """What was gained and what it cost, in a line; nothing where that is not known."""
        return ""

    def write(self) -> Path:
        """Write the page into the run's folder."""
        return write_report(self.data(), self.run.folder / REPORT)

    def show(self, members: Sequence[Any]) -> None:
        """Print members of the run as a table."""
        if not members:
            console().print(EMPTY)
            return
        if len(members) > 1 and (lead := self.lead()):
            console().print(lead, soft_wrap=True, markup=False)
        table, title, last = self.table(members, console().width >= 100)
        print_table(table, title, last)

    def show_finished(self) -> None:
        """The front of a finished run, and where to go on."""
        self.show(list(self.run.front))
        console().print(f"\nReport: {self.run.folder / REPORT}", soft_wrap=True)
        console().print(self.next_step(), soft_wrap=True)

    def common(self, title: str) -> dict[str, Any]:
        """What every page says of its run."""
        run: RunFolder = self.run
        return {
            "title": title,
            "created": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "version": __version__,
            "settings": {n: v for n, v in run.configuration.as_dict().items() if v is not None and n != "store"},
            "device": run.store.get_meta("device", run.configuration.device),
            "objectives": [str(o) for o in run.objectives],
            "journal": [{"stage": s.name, "status": s.status, "seconds": s.seconds} for s in Journal(run.store).rows()],
        }

    def heading(self, members: Sequence[Any]) -> str:
        many = f"{len(members)} {self.run.noun}s on the front of {self.run.folder}"
        return many if len(members) > 1 else f"The best of {self.run.folder}"


def trial_row(trial: Trial) -> dict[str, Any]:
    """A trial as the page lists it."""
    return {
        "number": trial.number,
        "id": trial.id,
        "origin": trial.origin,
        "status": str(trial.status),
        "key": trial.key,
        "architecture": str(trial.architecture),
        "values": dict(trial.values),
        "details": dict(trial.details),
        "reason": trial.reason,
        "seconds": trial.seconds if trial.seconds is not None else _lasted(trial),
    }


def _lasted(trial: Trial) -> float | None:
    """By the clock, for trials of versions that did not keep their seconds."""
    return trial.finished - trial.started if trial.finished else None
