"""`secateur report`: one page that shows a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.catalogue import find
from secateur.runs.folder import open_run
from secateur.verbs.signature import Folder


def report(
    run: Folder,
    *,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> Path:
    """Write a run's report anew: one HTML file that works offline."""
    opened = open_run(run)
    path: Path = find("report", opened.configuration.verb)(opened).write()
    if open_:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return path
