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
    typer.Option(help="The run's folder; by default the next free one, such as runs/prune-001.", show_default=False),
]


@takes(PruneSettings)
def prune(settings: PruneSettings, *, to: To = None, progress: Shown = True) -> PruneRun:
    """Find the sub-networks of a pre-trained Transformer with the best trade-offs between quality and cost, on your data.

    Trains the model as a super-network, searches it, polishes the best sub-networks (fine-tunes them further), and writes a
    report. Everything is kept in one folder; continue a stopped run with `secateur resume`.
    """
    run: PruneRun = start(settings, to, Progress(progress))
    return run
