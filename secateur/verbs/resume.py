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
        bool, typer.Option("--unsteady", help="Continue even if this device cannot be measured steadily (design runs only).")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(help="Give the run this many seconds instead of those it began with (prune runs only).")
    ] = None,
    progress: Shown = True,
) -> RunFolder:
    """Continue a run that was stopped, at the first step that is not done."""
    run = checked(run, StudyError)
    if (run / UNFINISHED / "settings.json").is_file():
        raise StudyError(
            f"`{run}` is an unfinished training, not a run. Run the same `secateur train` command again to continue."
        )
    opened: RunFolder = go_on(run, Progress(progress), unsteady=unsteady, seconds=seconds)
    return opened
