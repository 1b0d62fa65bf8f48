"""`secateur front`: the Pareto set of a run as a table, or the answer to one question about it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from secateur.errors import ConfigurationError
from secateur.runs.folder import open_run, parse_under
from secateur.verbs.signature import Folder, Under

Faster = Annotated[
    str | None, typer.Option("--for", help="What it costs to be so many times faster than the unpruned network: 3x.")
]


def front(run: Folder, *, under: Under = None, faster: Faster = None) -> Any:
    """The Pareto set of a run, the best of it within bounds, or what a speed-up costs."""
    opened = open_run(run)
    if faster is not None:
        if under:
            raise ConfigurationError("give either --for or --under: `--for 3x` is `--under speedup=3x`, told in a sentence.")
        return opened.price(faster)
    return [opened.front.best(under=parse_under(under))] if under else list(opened.front)
