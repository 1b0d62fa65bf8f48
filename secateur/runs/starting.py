"""Starting a run in a folder of its own, and going on with it. The same for every verb that makes runs."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from secateur.catalogue import find
from secateur.errors import ConfigurationError, EvaluationFailure, SecateurError, Stopped, StudyError, disk_is_full
from secateur.paths import quoted
from secateur.runs.folder import LOG, STUDY, open_run
from secateur.runs.progress import Progress
from secateur.runs.settings import FILE, RunSettings
from secateur.study import RunLock, Store, create_store
from secateur.study.executors.processes import WORKER


def next_folder(verb: str, parent: Path = Path("runs")) -> Path:
    """The first numbered folder that is not there yet."""
    number = 1
    while (parent / f"{verb}-{number:03d}").exists():
        number += 1
    return parent / f"{verb}-{number:03d}"


def start(settings: RunSettings, folder: str | Path | None, progress: Progress) -> Any:
    """Make a run's folder (by default the next free number) and go through its stages.

    Where no stage has begun, a refused start leaves nothing behind. Raises StudyError where the folder is there already.
    """
    if os.environ.get(WORKER):
        raise ConfigurationError('a script that starts runs with several workers needs `if __name__ == "__main__":` around it.')
    path, own = _made(settings.verb, folder)
    with RunLock(path):
        if [file.name for file in path.iterdir()] != ["lock"]:
            raise _taken(path)
        return _started(settings, path, own, progress)


def _started(settings: RunSettings, path: Path, own: bool, progress: Progress) -> Any:
    """Write settings and store into a locked folder, then go. What ends before there is something to resume leaves nothing."""
    store: Store | None = None
    run: Any = None
    try:
        try:
            settings.write(path)
        except OSError as error:
            raise StudyError(f"`{path}` cannot be written: {error.strerror or error}.") from error
        known = {name: value for name, value in settings.as_dict().items() if name != "store"}  # it may hold a password
        store = create_store(settings.store or path / STUDY, known)
        run = open_run(path)
        return _go(run, progress)
    except BaseException as error:
        log = path / LOG
        begun = log.is_file() and log.stat().st_size
        goes_on = store is not None and (begun or isinstance(error, KeyboardInterrupt) or disk_is_full(error))
        if not goes_on:
            if run is not None:
                run.close()
            if store is not None:
                with suppress(SecateurError):
                    store.discard()
            _clean(path, own)
        raise
    finally:
        if store is not None:
            store.close()


def _clean(path: Path, own: bool) -> None:
    """Remove what a start makes, and the folder where it was made for it: nothing else that lies there."""
    for name in (FILE, STUDY, f"{STUDY}-wal", f"{STUDY}-shm", LOG, "lock"):
        (path / name).unlink(missing_ok=True)
    if own:
        with suppress(OSError):
            path.rmdir()


def _taken(folder: Path) -> StudyError:
    return StudyError(
        f"`{folder}` exists already. Go on with it by `secateur resume {quoted(folder)}`, or name another folder with --to."
    )


def _made(verb: str, folder: str | Path | None) -> tuple[Path, bool]:
    """An empty folder for a run, and whether it was made here. Two processes never get the same numbered one."""
    while True:
        path = next_folder(verb) if folder is None else Path(folder)
        if folder is not None and path.exists() and (not path.is_dir() or any(f.name != "lock" for f in path.iterdir())):
            raise _taken(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
            return path, True
        except OSError as error:
            if isinstance(error, FileExistsError) and path.is_dir():
                if folder is not None:
                    return path, False
                continue  # another process has just made it: the next number
            raise StudyError(f"`{path}` cannot be written: {error.strerror or error}.") from error


def go_on(folder: Path, progress: Progress, *, unsteady: bool = False) -> Any:
    """Go through the stages of a run that are not done yet; `unsteady`: from now on also on a device that is not steady.

    Raises ConfigurationError for `unsteady` where the run does not ask whether the device is.
    """
    run = open_run(folder)
    if faults := run.configuration.field_faults():  # of an earlier version, another machine or somebody's editor
        raise StudyError(f"`{folder / FILE}` cannot be used here: {' '.join(faults)}")
    if unsteady and not hasattr(run.configuration, "unsteady"):
        verb = run.configuration.verb
        raise ConfigurationError(f"`{folder}` is a run of `secateur {verb}`, which has no --unsteady.")
    with RunLock(folder):
        if unsteady:
            run.configuration = replace(run.configuration, unsteady=True)
            run.configuration.write(folder)
        return _go(run, progress)


def _go(run: Any, progress: Progress) -> Any:
    """Every stage of a locked run that is not done yet; what ends it is said in one line, with how to go on."""
    again = f"What was done is saved; go on with: secateur resume {quoted(run.folder)}"
    progress.say(f"{run.folder}: {run.about}")
    try:
        find("work", run.configuration.verb)(run, progress).go()
    except KeyboardInterrupt:
        raise Stopped(f"stopped. {again}") from None
    except EvaluationFailure as failure:
        raise StudyError(f"{failure} {run.advice}".strip()) from failure
    except SecateurError:
        raise
    except Exception as error:
        if disk_is_full(error):
            raise StudyError(f"the disk is full. {again}") from error
        vars(error)["run_folder"] = run.folder  # where the command line leaves the traceback
        raise
    return run
