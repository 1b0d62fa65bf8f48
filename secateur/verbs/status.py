"""`secateur status`: where a run stands, and what to do next."""

from __future__ import annotations

from secateur.checkpoints.folders import is_trained
from secateur.errors import StudyError
from secateur.paths import checked
from secateur.runs.design.training import UNFINISHED
from secateur.runs.design.training_status import status_of_training
from secateur.runs.status import Status, status_of_run
from secateur.verbs.signature import RunOrTrained, tells


@tells
def status(run: RunOrTrained) -> Status:
    """Show how far a run is: its stage, its progress, the time spent and left, and what to do next.

    Nothing is written, and the run is not disturbed. With --json, `state` is running, stopped or finished.
    """
    run = checked(run, StudyError)
    if not run.is_dir():
        raise StudyError(f"there is no run folder `{run}`.")
    begun, trained = (run / UNFINISHED / "settings.json").is_file(), is_trained(run)
    return status_of_training(run, trained and not begun) if begun or trained else status_of_run(run)
