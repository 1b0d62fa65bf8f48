"""`secateur prune`: the Pareto set of a pre-trained Transformer's sub-networks, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secateur.devices.launch import Launch
from secateur.runs.progress import Progress
from secateur.runs.prune.run import PruneRun
from secateur.runs.prune.settings import PruneSettings
from secateur.runs.starting import start
from secateur.verbs.signature import Shown, takes, tells

if TYPE_CHECKING:
    from secateur.runs.prune.planning import PrunePlan

To = Annotated[
    Path | None,
    typer.Option(help="The run's folder; by default the next free one, such as runs/prune-001.", show_default=False),
]


PlanOnly = Annotated[
    bool,
    typer.Option(
        "--plan-only",
        help="Say how much memory and time each stage will take, and stop. Nothing is written.",
        rich_help_panel="Large models",
    ),
]


@tells
@takes(PruneSettings)
def prune(
    settings: PruneSettings, *, to: To = None, plan_only: PlanOnly = False, progress: Shown = True
) -> PruneRun | PrunePlan:
    """Find the sub-networks of a pre-trained Transformer with the best trade-offs between quality and cost, on your data.

    Trains the model as a super-network, searches it, polishes the best sub-networks (fine-tunes them further), and writes a
    report. Everything is kept in one folder; continue a stopped run with `secateur resume`.
    """
    if plan_only:
        from secateur.runs.prune.planning import plan_of_run

        if (launch := Launch.here()) is not None and launch.rank:  # the first process says it
            raise SystemExit(0)
        return plan_of_run(settings)
    run: PruneRun = start(settings, to, Progress(progress))
    return run
