"""Runs of one kind, read to be compared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.errors import BoundError, ConfigurationError, StudyError
from secateur.objectives import Objective
from secateur.paths import checked, reason
from secateur.report.compare_page import compare_html
from secateur.report.compare_rows import SIZES, SPEEDS, ComparedRun, Comparison, differences
from secateur.report.data import Row
from secateur.report.terminal import say
from secateur.report.text_table import print_table
from secateur.runs.folder import open_run
from secateur.runs.reporting import report_of
from secateur.study import Journal
from secateur.writing import write_whole

#: Where the page is written by default.
PAGE = Path("compare.html")
#: Settings that do not make another experiment.
_NO_MATTER = ("seed", "store", "preset", "workers", "executor", "address", "gpus_per_trial", "log_to")


@dataclass(frozen=True)
class RunsCompared:
    """Runs compared: the page is written when they are shown, or before where a file was named."""

    verb: str
    found: Comparison
    page: Path | None = None

    def write(self, to: Path) -> Path:
        try:
            return write_whole(compare_html(self.found), to)
        except OSError as error:
            raise StudyError(f"`{to}` cannot be written: {reason(error)}.") from error

    def show(self) -> None:
        found = self.found
        path = self.page or self.write(PAGE)
        same = ", ".join(f"{name} {value}" for name, value in found.same.items())
        data = " on test data" if found.tested else ""
        print_table(found.runs_table(), f"{len(found.runs)} runs: {same}; scores are {found.score.replace('_', ' ')}{data}")
        if found.group_rows():
            say()
            print_table(found.groups_table(), "Runs that differ only in their seed: mean ± standard deviation")
        say()
        for note in found.notes:
            say(f"Note: {note}")
        say(f"Page: {path}", whole=True)

    def rows(self) -> list[Row]:
        return self.found.rows

    def as_dict(self) -> dict[str, Any]:
        """The runs, what they have over seeds, and what no run beats."""
        found = self.found
        about = {"verb": self.verb, "objectives": [o.name for o in found.objectives], "reference": found.reference}
        about |= {"score": found.score, "same": found.same, "notes": found.notes}
        unbeaten = [{**{n: m[n] for n in ("run", "key", "architecture")}, **m["values"]} for m in found.unbeaten]
        return {**about, "runs": found.rows, "groups": found.group_rows(), "unbeaten": unbeaten}


def compare_runs(folders: Sequence[Path]) -> RunsCompared:
    """Runs of one verb, compared. Raises ConfigurationError for fewer than two, or for runs of several verbs."""
    folders = [checked(folder, StudyError) for folder in folders]
    if len({folder.resolve() for folder in folders}) < max(2, len(folders)):
        raise ConfigurationError("give the folders of two or more runs, each only once.")
    runs = [open_run(folder) for folder in folders]
    first, *others = (run.configuration.verb for run in runs)
    for folder, verb in zip(folders[1:], others, strict=True):
        if verb != first:
            raise ConfigurationError(
                f"`{folders[0]}` is a run of {first}, `{folder}` one of {verb}: only runs of the same kind can be compared."
            )
    names = _names(folders)
    compared = [_compared(run, name) for run, name in zip(runs, names, strict=True)]
    if not any(run.members for run in compared):
        raise StudyError("none of these runs has a front yet.")
    objectives, note = _objectives(runs)
    notes = [*note, *(f"{run.name} has no front yet." for run in compared if not run.members), *differences(compared)]
    return RunsCompared(first, Comparison(compared, objectives, report_of(runs[0]).scored_by(), notes))


def _names(folders: Sequence[Path]) -> list[str]:
    """The folders' own names, or as much of their paths as tells them apart."""
    plain = [folder.resolve() for folder in folders]
    if len({path.name for path in plain}) == len(plain):
        return [path.name for path in plain]
    common = os.path.commonpath(plain)
    return [os.path.relpath(path, common) for path in plain]


def _compared(run: Any, name: str) -> ComparedRun:
    report, front, rows = report_of(run), run.front, Journal(run.store).rows()
    best: dict[str, Row | None] = {}
    for level, (quantity, bound) in (SIZES | SPEEDS).items():
        try:
            best[level] = report.scored(front.best(under={quantity: bound}))
        except (BoundError, ConfigurationError):  # nothing so small or so fast, or nothing to measure it by
            best[level] = None
    settings = {n: v for n, v in run.configuration.as_dict().items() if n not in _NO_MATTER}
    asked = sorted((t for t in run.trials if t.id is not None and t.complete), key=lambda t: t.number or 0)
    return ComparedRun(
        name=name,
        folder=str(run.folder),
        facts=report.facts(),
        settings=settings,
        conditions=report.conditions(),
        members=[{"key": m.key, "architecture": m.text, "values": dict(m.values)} for m in front.pool],
        asked=[dict(trial.values) for trial in asked],
        unpruned=run.unpruned and dict(run.whole),
        best=best,
        seconds=sum(row.seconds or 0.0 for row in rows),
        finished=Journal(run.store).done("report"),
    )


def _objectives(runs: Sequence[Any]) -> tuple[list[Objective], list[str]]:
    """The objectives of all runs; where they share fewer than two, the usual ones of their kind. What differs is said."""
    own = [[o.name for o in run.objectives] for run in runs]
    shared = [Objective(o.name, o.direction) for o in runs[0].objectives if all(o.name in names for names in own)]
    if len(shared) < 2:
        shared = [Objective.parse(name) for name in report_of(runs[0]).usual_objectives]
    names = [o.name for o in shared]
    if all(sorted(one) == sorted(names) for one in own):
        return shared, []
    return shared, [f"the runs have different objectives; they are compared by {' and '.join(names)}."]
