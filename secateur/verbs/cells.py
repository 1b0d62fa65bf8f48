"""`secateur cells`: the cells of a network for images, found by hierarchical masks (HM-NAS)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.cells.run import CellsRun
from secateur.runs.cells.settings import CellsSettings
from secateur.runs.progress import Progress
from secateur.runs.starting import start
from secateur.verbs.signature import Shown, takes

To = Annotated[
    Path | None,
    typer.Option(help="The run's folder; by default the next free one, such as runs/cells-001.", show_default=False),
]


@takes(CellsSettings)
def find_cells(settings: CellsSettings, *, to: To = None, progress: Shown = True) -> CellsRun:
    """Find the cells of a convolutional network for your images, as HM-NAS does (Yan 2022).

    A super-network of DARTS' operations is trained, masks on its edges, operations and weights are learnt, and what they leave
    is cut out and fine-tuned. Everything is kept in one folder; continue a stopped run with `secateur resume`.
    """
    run: CellsRun = start(settings, to, Progress(progress))
    return run
