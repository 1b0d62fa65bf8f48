"""`secateur design`: the Pareto set of decoder language models on this device, without training one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.design.run import DesignRun
from secateur.runs.design.settings import DesignSettings
from secateur.runs.progress import Progress
from secateur.runs.starting import start
from secateur.verbs.signature import Shown, takes

To = Annotated[
    Path | None,
    typer.Option(help="The run's folder; by default the next free one, such as runs/design-001.", show_default=False),
]


@takes(DesignSettings)
def design(settings: DesignSettings, *, to: To = None, progress: Shown = True) -> DesignRun:
    """Find the decoder language models with the best trade-offs between quality, latency and memory on this device.

    Nothing is trained: the number of parameters in the decoder's layers serves as a proxy for quality. Everything is kept in
    one folder; continue a stopped run with `secateur resume`, and train the architecture you pick with `secateur train`.
    """
    run: DesignRun = start(settings, to, Progress(progress))
    return run
