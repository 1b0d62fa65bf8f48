"""`secateur front`: the Pareto set of a run as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.runs.folder import open_run, parse_under


def front(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    *,
    under: Annotated[
        list[str] | None,
        typer.Option(
            help="Only the best within a bound: body_parameters=50%, latency=20ms. Give it several times for several."
        ),
    ] = None,
) -> list[Any]:
    """The Pareto set of a run, or the best of it within bounds."""
    found = open_run(run).front
    return [found.best(under=parse_under(under))] if under else list(found)
