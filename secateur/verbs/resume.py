"""`secateur resume`: go on with a run that was stopped."""

from __future__ import annotations

from typing import Annotated

import typer

from secateur.errors import StudyError
from secateur.paths import checked
from secateur.runs.design.training import UNFINISHED
from secateur.runs.folder import RunFolder
from secateur.runs.progress import Progress
from secateur.runs.starting import go_on
from secateur.verbs.documented import plainly
from secateur.verbs.signature import Folder, Shown


@plainly
def resume(
    run: Folder,
    *,
    unsteady: Annotated[
        bool, typer.Option("--unsteady", help="Go on even if this device cannot be measured steadily (a run of design).")
    ] = False,
    progress: Shown = True,
) -> RunFolder:
    """Go on with a run that was stopped, at the first thing that is not done."""
    run = checked(run, StudyError)
    if (run / UNFINISHED / "settings.json").is_file():
        raise StudyError(f"`{run}` holds an unfinished training, no run. Run the same `secateur train` command again to go on.")
    opened: RunFolder = go_on(run, Progress(progress), unsteady=unsteady)
    return opened
