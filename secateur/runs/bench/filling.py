"""Experiments that a file lacks are done side by side, and each is in the file as soon as it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from secateur.errors import SecateurError
from secateur.runs.bench.rows_file import SafeRowsFile
from secateur.runs.bench.workers import Crew, each
from secateur.runs.progress import Progress

if TYPE_CHECKING:
    import pandas

Rows = list[dict[str, Any]]


def filled(
    file: SafeRowsFile,
    cells: Mapping[str, Any],
    prepare: str,
    given: Any,
    crew: Crew,
    here: Callable[[Any], Rows],
    bar: tuple[Progress, str],
) -> pandas.DataFrame:
    """The rows of all cells, in order: cell → its task. `prepare`, `given`, `crew` and `here` are those of `each`."""
    missing = [cell for cell in cells if cell not in file]
    progress, doing = bar
    try:
        with progress.bar(doing) as advance:
            done = len(cells) - len(missing)
            for place, rows in each(prepare, given, [cells[cell] for cell in missing], crew, here):
                file.add(missing[place], rows)
                done += 1
                advance(done, len(cells))
    finally:
        with suppress(SecateurError):
            file.write()
    return file.of(list(cells))
