"""`secateur report`: one page that shows a run, or its tables for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from secateur.errors import ConfigurationError, StudyError
from secateur.paths import reason
from secateur.report.terminal import echo
from secateur.runs.folder import open_run
from secateur.runs.progress import Progress
from secateur.runs.prune.formats import compare_formats
from secateur.runs.prune.run import PruneRun
from secateur.runs.reporting import report_of
from secateur.runs.tables import TABLES, RunTables
from secateur.study import RunLock
from secateur.verbs.completion import among
from secateur.verbs.signature import Folder, tells

Which = Annotated[
    str | None,
    typer.Option(help=f"With --json or --csv, this table alone: {', '.join(TABLES)}.", autocompletion=among(TABLES)),
]


@dataclass(frozen=True)
class Page(RunTables):
    """The report of a run, as a page (`write`) or as tables (`as_dict`, `rows`)."""

    to: Path | None = None
    open: bool = False

    def write(self) -> Path:
        """Write the page, and return where it is."""
        try:
            path: Path = report_of(self.run).write(self.to)
        except OSError as error:
            where, hint = (self.run.folder, " Name a file elsewhere with --to.") if self.to is None else (self.to, "")
            raise StudyError(f"`{where}` cannot be written: {reason(error)}.{hint}") from error
        return path

    def show(self) -> None:
        """Write the page, and say where it is."""
        if self.table is not None:
            raise ConfigurationError("--table chooses what --json and --csv print: add one of them.")
        path = self.write()
        if self.open:
            import webbrowser

            webbrowser.open(path.resolve().as_uri())
        echo(str(path))


@tells
def report(
    run: Folder,
    *,
    to: Annotated[
        Path | None, typer.Option(help="The file to write; by default report.html in the run's folder.", show_default=False)
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    table: Which = None,
    formats: Annotated[
        bool,
        typer.Option(
            "--formats",
            help="First compare the networks that a pruning run names, and the unpruned one, as PyTorch, ONNX, int8 and int4.",
        ),
    ] = False,
) -> Page:
    """Write a run's report: one HTML file that works offline. With --json or --csv, print its tables instead."""
    opened = open_run(run)
    if formats:
        if not isinstance(opened, PruneRun):
            raise ConfigurationError(f"--formats compares the networks of a pruning run, and `{run}` is none.")
        with RunLock(opened.folder):
            for reason in compare_formats(opened, Progress(True), anew=True):
                echo(reason, error=True)
    return Page(opened, table, to, open_)
