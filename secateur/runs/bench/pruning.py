"""The bench of pruning: go through a grid of cells, whatever fails, and collect what they ended in."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from secateur.errors import ConfigurationError, Stopped, StudyError, first_line
from secateur.paths import quoted, reason
from secateur.runs.bench.cells import RUN, Cell
from secateur.runs.bench.pruning_checks import check_set
from secateur.runs.bench.pruning_grid import View, views
from secateur.runs.bench.pruning_results import RESULTS, PruningStudy
from secateur.runs.bench.pruning_settings import PruningSettings
from secateur.runs.bench.rows_file import RowsFile
from secateur.runs.folder import REPORT
from secateur.runs.progress import Progress
from secateur.study import RunLock
from secateur.writing import check_writable, remove, write_whole

CELLS, FAILED = "cells", "failed.txt"


def bench_grid(folder: Path, settings: PruningSettings, progress: Progress) -> PruningStudy:
    """Go through all cells that are not done, then write results and page.

    A cell that fails is noted, and tried again next time; one that another process works on is left to it. Raises
    ConfigurationError for settings that cannot be used.
    """
    s = settings.check()
    asked = views(s)
    cells = list({view.cell.name: view.cell for view in asked}.values())
    check_set(s, cells)
    try:
        check_writable(folder)
    except OSError as error:
        raise ConfigurationError(f"`{folder}` cannot be written: {reason(error)}.") from error
    RowsFile.check()
    failures: dict[str, str] = {}
    busy: list[str] = []
    try:
        with progress.bar("cells") as advance:
            for number, cell in enumerate(cells):
                place = folder / CELLS / cell.name
                if not cell.done(place):
                    progress.say(f"{number + 1} of {len(cells)}: {cell.name}")
                    _go(cell, place, s.keep, failures, busy)
                advance(number + 1, len(cells))
    except KeyboardInterrupt:
        raise Stopped("stopped. What was done is saved: the same command goes on.") from None
    study = PruningStudy(folder, _collected(folder, asked, failures), s, _notes(cells, failures, busy, folder))
    study.write()
    return study


def _go(cell: Cell, place: Path, keep: bool, failures: dict[str, str], busy: list[str]) -> None:
    """Go on with a cell to its end, unless another process holds it; what ends it early is noted."""
    place.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(RunLock(place))
        except StudyError:
            busy.append(cell.name)
            return
        try:
            if not cell.done(place):  # it may have been done by another process since
                cell.work(place)
        except Exception as error:
            failures[cell.name] = f"{type(error).__name__}: {first_line(error)}"
            write_whole(failures[cell.name] + "\n", place / FAILED)
            return
        remove(place / FAILED)
        if not keep:
            for large in [*place.rglob("*.safetensors"), place / RUN / REPORT]:
                remove(large)


def _collected(folder: Path, asked: Sequence[View], failures: dict[str, str]) -> RowsFile:
    """All rows of the grid, in one file."""
    path = folder / RESULTS
    remove(path)  # it is made anew of what the cells hold
    file = RowsFile(path)
    for view in asked:
        said = {"experiment": view.experiment, "arm": view.arm, **view.cell.facts}
        if view.cell.done(folder / CELLS / view.cell.name):
            file.add(view.cell.name, view.rows(folder / CELLS))
        elif view.cell.name in failures:
            file.add(view.cell.name, [{**said, "kind": "failure", "reason": failures[view.cell.name]}])
    file.write()
    return file


def _notes(cells: Sequence[Cell], failures: dict[str, str], busy: Sequence[str], folder: Path) -> list[str]:
    done = sum(cell.done(folder / CELLS / cell.name) for cell in cells)
    said = [f"{done} of {len(cells)} cells are done."]
    said += [f"{name} failed: {why}" for name, why in failures.items()]
    if busy:
        said.append(f"{len(busy)} cells are in the hands of other processes: run the command again when those have ended.")
    if failures:
        said.append(f"What failed is tried again by the same command; the runs lie in {quoted(folder / CELLS)}.")
    return said
