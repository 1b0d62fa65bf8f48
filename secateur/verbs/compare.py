"""`secateur compare`: the fronts of several runs, on one page and in one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.comparison import PAGE, RunsCompared, compare_runs
from secateur.verbs.completion import run_folders
from secateur.verbs.signature import tells

Folders = Annotated[list[Path], typer.Argument(help="The folders of two or more runs.", autocompletion=run_folders)]


@tells
def compare(
    runs: Folders,
    *,
    to: Annotated[
        Path | None, typer.Option(help=f"The page to write; by default {PAGE} in the current folder.", show_default=False)
    ] = None,
) -> RunsCompared:
    """Compare runs of the same kind: fronts on one page, hypervolumes on one scale, the best at each size and speed.

    With --json or --csv, a page is written only if --to names one.
    """
    found = compare_runs(runs)
    return found if to is None else replace(found, page=found.write(to))
