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
    typer.Option(help="The run's folder; by default the next free number, runs/design-001.", show_default=False),
]


@takes(DesignSettings)
def design(settings: DesignSettings, *, to: To = None, progress: Shown = True) -> DesignRun:
    """Find the decoder language models that trade quality against latency and memory best on this device. Trains nothing.

    A proxy that needs no training stands for quality: the number of parameters in the decoder's layers. Everything lies in one
    folder; a run that was stopped goes on with `secateur resume`, and `secateur train` trains what you pick.
    """
    run: DesignRun = start(settings, to, Progress(progress))
    return run
