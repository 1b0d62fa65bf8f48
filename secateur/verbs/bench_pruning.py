"""`secateur bench pruning`: the pruning papers' experiments over models, tasks, methods and seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.bench.pruning import bench_grid
from secateur.runs.bench.pruning_results import PruningStudy
from secateur.runs.bench.pruning_settings import PruningSettings
from secateur.runs.progress import Progress
from secateur.verbs.signature import Shown, takes, tells

Into = Annotated[Path, typer.Argument(help="Folder for all runs, their results and the page.")]


@tells
@takes(PruningSettings)
def bench_pruning(settings: PruningSettings, folder: Into, *, progress: Shown = True) -> PruningStudy:
    """Compare spaces, training strategies, searchers and pruning methods by the protocol of the pruning papers.

    Every cell of the grid is a run in a folder of its own. Stopped at any time, the same command goes on; several processes may
    work on one folder. A cell that fails is noted, and the others go on.

    Raises ConfigurationError for settings out of range or unknown names.
    """
    return bench_grid(Path(folder), settings, Progress(progress))
