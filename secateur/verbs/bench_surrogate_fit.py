"""`secateur bench surrogate fit`: a surrogate that answers with learning curves."""

from __future__ import annotations

from typing import Annotated

import typer

from secateur.runs.bench.surrogate.fitting import FittedSurrogate, fit
from secateur.runs.bench.surrogate.settings import FitSettings
from secateur.runs.progress import Progress
from secateur.verbs.signature import Shown, takes, tells

TableName = Annotated[str, typer.Argument(help="A table with learning curves, by name (curves-wikitext2, …) or a file.")]


@tells
@takes(FitSettings)
def bench_surrogate_fit(settings: FitSettings, table: TableName, *, progress: Shown = True) -> FittedSurrogate:
    """Fit a surrogate to the trainings of a table: it answers for all other networks with whole, noisy learning curves, and is
    a table to search itself.

    Raises DataError for a table without whole curves, ConfigurationError for settings out of range, StudyError for a folder
    that holds something else.
    """
    return fit(table, settings, Progress(progress))
