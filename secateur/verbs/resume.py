"""`secateur resume`: go on with a run that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.verbs.progress import Progress
from secateur.verbs.run_folder import RunFolder
from secateur.verbs.starting import go_on


def resume(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    *,
    progress: Annotated[bool, typer.Option("--progress/--quiet", help="Show progress.")] = True,
) -> RunFolder:
    """Go on with a run that was stopped, at the first thing that is not done."""
    opened: RunFolder = go_on(Path(run), Progress(progress))
    return opened
