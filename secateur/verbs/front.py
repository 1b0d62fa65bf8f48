"""`secateur front`: the Pareto set of a run as a table, or the answer to one question about it."""

from __future__ import annotations

from typing import Annotated

import typer

from secateur.errors import ConfigurationError
from secateur.runs.folder import Price, open_run, parse_under
from secateur.runs.reporting import Members
from secateur.verbs.signature import Folder, Under, tells

Faster = Annotated[str | None, typer.Option("--for", help="Say what a speed-up over the unpruned network costs: 3x.")]


@tells
def front(run: Folder, *, under: Under = None, faster: Faster = None) -> Members | Price:
    """Show the Pareto set of a run, the best network within bounds, or what a speed-up costs."""
    opened = open_run(run)
    if faster is not None:
        if under:
            raise ConfigurationError("give either --for or --under: `--for 3x` is `--under speedup=3x` answered in a sentence.")
        price: Price = opened.price(faster)
        return price
    return Members(opened, [opened.front.best(under=parse_under(under))] if under else list(opened.front))
