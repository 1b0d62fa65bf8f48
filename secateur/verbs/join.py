"""`secateur join`: one more driver for a run that is at its search."""

from __future__ import annotations

from typing import Annotated

import typer

from secateur.errors import StudyError
from secateur.paths import checked
from secateur.runs import starting
from secateur.runs.folder import RunFolder
from secateur.runs.progress import Progress
from secateur.verbs.documented import plainly
from secateur.verbs.signature import Folder, Shown


@plainly
def join(
    run: Folder,
    *,
    workers: Annotated[int, typer.Option(help="Processes that evaluate trials in parallel here.")] = 1,
    progress: Shown = True,
) -> RunFolder:
    """Search with a run that another process, or another machine, is working on, until its search has ended."""
    opened: RunFolder = starting.join(checked(run, StudyError), Progress(progress), workers)
    return opened
