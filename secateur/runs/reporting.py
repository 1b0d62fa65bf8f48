"""What the reports of all runs share: the page in the run's folder, and the table of its front on a terminal."""

from __future__ import annotations

import datetime
import html
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from secateur import __version__
from secateur.catalogue import find
from secateur.paths import quoted
from secateur.report import write_report
from secateur.report.data import Row
from secateur.report.rows import Table
from secateur.report.terminal import say
from secateur.report.text_table import fits, print_table
from secateur.runs.folder import PROGRESS, REPORT, RunFolder
from secateur.runs.state import state_of
from secateur.study import Journal, StageRow
from secateur.trial import Trial

#: What is said of a front without members.
EMPTY = "The front is empty: the search has no results yet."


class Report(ABC):
    """What is shown of a run. A job says what its page holds and what its table's columns are.

    `ending`: the run itself asks, at the end of its last stage.
    """

    def __init__(self, run: Any, ending: bool = False) -> None:
        self.run = run
        self.ending = ending

    @abstractmethod
    def data(self) -> Any:
        """All that the page shows."""

    @abstractmethod
    def table(self, members: Sequence[Any], wide: bool) -> tuple[Table, str, Row | None]:
        """The members as a table with its title and a last row; not `wide`: without what few need."""

    @abstractmethod
    def plain_row(self, member: Any) -> Row:
        """All that is known of a member, for other programs: full numbers in base units, its key first."""

    # What a comparison of runs asks for

    #: Runs that have fewer than two objectives in common are compared by these.
    usual_objectives: ClassVar[tuple[str, str]]

    @abstractmethod
    def facts(self) -> Row:
        """What people tell runs apart by: short names, the seed last."""

    @abstractmethod
    def conditions(self) -> Row:
        """What has to be the same for numbers to be comparable: see `compare_rows.CONDITIONS`."""

    @abstractmethod
    def scored_by(self) -> str:
        """What a member's score is: a metric, or a quantity."""

    @abstractmethod
    def scored(self, member: Any) -> Row:
        """key, score and test (the score on test data, None where it has none)."""

    @abstractmethod
    def next_step(self) -> str:
        """What to do with a finished run, as a line with a command."""

    def lead(self) -> str:
        """What was gained and what it cost, in a line; nothing where that is not known."""
        return ""

    def write(self, to: Path | None = None) -> Path:
        """Write the page to a file, or into the run's folder."""
        return write_report(self.data(), to or self.run.folder / REPORT)

    def show(self, members: Sequence[Any]) -> None:
        """Print members of the run as a table."""
        if not members:
            say(EMPTY)
            return
        if len(members) > 1 and (lead := self.lead()):
            say(lead)
        table, title, last = self.table(members, wide=True)
        print_table(table if fits(table, last) else self.table(members, wide=False)[0], title, last)

    def show_finished(self) -> None:
        """The front of a finished run, and where to go on."""
        self.show(list(self.run.front))
        for table, title in self.further():
            say()
            print_table(table, title)
        say(f"\nReport: {self.run.folder / REPORT}", whole=True)
        say(self.next_step(), whole=True)

    def further(self) -> list[tuple[Table, str]]:
        """Tables that are shown below the front's, with their titles."""
        return []

    def common(self, title: str) -> dict[str, Any]:
        """What every page says of its run."""
        run: RunFolder = self.run
        journal = Journal(run.store).rows()
        stages = [{"stage": s.name, "status": s.status, "seconds": s.seconds} for s in journal]
        if self.ending and journal:
            stages[-1] |= {"status": "done", "seconds": time.time() - journal[-1].started}
        return {
            "title": title,
            "created": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "version": __version__,
            "settings": {n: v for n, v in run.configuration.as_dict().items() if v is not None and n != "store"},
            "device": run.store.get_meta("device", run.configuration.device),
            "objectives": [str(o) for o in run.configuration.objectives],
            "journal": stages,
            "unfinished": self._unfinished(journal),
        }

    def _unfinished(self, journal: Sequence[StageRow]) -> dict[str, str] | None:
        """Where a run stands, and what goes on with it; None where it is done."""
        if self.ending or Journal(self.run.store).done("report"):
            return None
        last = journal[-1] if journal else None
        moment: dict[str, Any] = self.run.store.get_meta(PROGRESS) or {}
        return {
            "stage": last.name if last else "",
            "progress": str(moment.get("text", "")) if last and last.status == "running" else "",
            "reason": (last.reason or "") if last else "",
            "resume": f"secateur resume {quoted(self.run.folder)}",
        }

    def __str__(self) -> str:
        """The run in a few lines, what was gained first: as Python shows it."""
        return "\n".join([*self._said(), *([repr(self.run.front)] if len(self.run.front) else [])])

    def html(self) -> str:
        """The run as a notebook shows it."""
        lines = "<br>".join(html.escape(line) for line in self._said())
        return f"<p>{lines}</p>{self.run.front._repr_html_() if len(self.run.front) else ''}"

    def _said(self) -> list[str]:
        run = self.run
        state = state_of(run)
        where = f"{state.status} ({state.stage})" if state.status in ("running", "stopped") else state.status
        found = [self.lead() if len(run.front) else "", f"{type(run).__name__} {run.folder}: {where}"]
        return [line for line in found if line]

    def heading(self, members: Sequence[Any]) -> str:
        many = f"{len(members)} {self.run.noun}s on the front of {self.run.folder}"
        return many if len(members) > 1 else f"The best of {self.run.folder}"


def report_of(run: Any) -> Report:
    """The report of a run, whatever verb made it."""
    found: Report = find("report", run.configuration.verb)(run)
    return found


@dataclass(frozen=True)
class Members(Sequence[Any]):
    """Members of a run: a list that can be shown."""

    run: Any
    members: Sequence[Any]

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, index: Any) -> Any:
        return self.members[index]

    def show(self) -> None:
        report_of(self.run).show(self.members)

    def rows(self) -> list[Row]:
        return [report_of(self.run).plain_row(member) for member in self.members]


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
