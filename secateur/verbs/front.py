"""`secateur front`: the Pareto set of a run as a table."""

from __future__ import annotations

from typing import Any

from secateur.runs.folder import open_run, parse_under
from secateur.verbs.signature import Folder, Under


def front(run: Folder, *, under: Under = None) -> list[Any]:
    """The Pareto set of a run, or the best of it within bounds."""
    found = open_run(run).front
    return [found.best(under=parse_under(under))] if under else list(found)
