"""`secateur prune`: the Pareto set of a pre-trained Transformer's sub-networks, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.progress import Progress
from secateur.runs.prune.run import PruneRun
from secateur.runs.prune.settings import PruneSettings
from secateur.runs.starting import start
from secateur.verbs.signature import Shown, takes

To = Annotated[
    Path | None,
    typer.Option(help="The run's folder; by default the next free number, runs/prune-001.", show_default=False),
]


@takes(PruneSettings)
def prune(settings: PruneSettings, *, to: To = None, progress: Shown = True) -> PruneRun:
    """Find the sub-networks of a pre-trained Transformer that trade quality against cost best, on your data and device.

    Trains the model as a super-network, searches it, fine-tunes the best, and writes a report. Everything lies in one
    folder; a run that was stopped goes on with `secateur resume`.
    """
    run: PruneRun = start(settings, to, Progress(progress))
    return run
