"""Starting a run in a folder of its own, and going on with it. The same for every verb that makes runs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from secateur.catalogue import find
from secateur.errors import ConfigurationError, EvaluationFailure, SecateurError, Stopped, StudyError, disk_is_full
from secateur.runs.folder import LOG, STUDY, open_run
from secateur.runs.progress import Progress
from secateur.runs.settings import RunSettings
from secateur.study import RunLock, create_store


def next_folder(verb: str, parent: Path = Path("runs")) -> Path:
    """The first numbered folder that is not there yet."""
    number = 1
    while (parent / f"{verb}-{number:03d}").exists():
        number += 1
    return parent / f"{verb}-{number:03d}"


def start(settings: RunSettings, folder: str | Path | None, progress: Progress) -> Any:
    """Make a run's folder (by default the next free number) and go through its stages.

    Raises StudyError where the folder is there already.
    """
    folder = Path(folder) if folder is not None else next_folder(settings.verb)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(
            f"`{folder}` exists already. Go on with it: secateur resume {folder}. Or name another folder with --to."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        settings.write(folder)
    except OSError as error:
        raise StudyError(f"`{folder}` cannot be written: {error.strerror or error}.") from error
    begun = folder / LOG
    try:
        create_store(settings.store or folder / STUDY, settings.as_dict()).close()
        return go_on(folder, progress)
    except SecateurError:
        if not begun.is_file() or not begun.stat().st_size:  # no stage has begun: nothing to resume
            shutil.rmtree(folder, ignore_errors=True)
        raise


def go_on(folder: Path, progress: Progress, *, unsteady: bool = False) -> Any:
    """Go through the stages of a run that are not done yet; `unsteady`: from now on also on a device that is not steady.

    Raises ConfigurationError for `unsteady` where the run does not ask whether the device is.
    """
    run = open_run(folder)
    verb = run.configuration.verb
    again = f"What was done is saved; go on with: secateur resume {folder}"
    if unsteady and not hasattr(run.configuration, "unsteady"):
        raise ConfigurationError(f"`{folder}` is a run of `secateur {verb}`, which has no --unsteady.")
    with RunLock(folder):
        if unsteady:
            run.configuration = replace(run.configuration, unsteady=True)
            run.configuration.write(folder)
        progress.say(f"[bold]{folder}[/bold]: {run.about}")
        try:
            find("work", verb)(run, progress).go()
        except KeyboardInterrupt:
            raise Stopped(f"stopped. {again}") from None
        except EvaluationFailure as failure:
            raise StudyError(f"{failure} {run.advice}".strip()) from failure
        except SecateurError:
            raise
        except Exception as error:
            if disk_is_full(error):
                raise StudyError(f"the disk is full. {again}") from error
            raise
    return run
