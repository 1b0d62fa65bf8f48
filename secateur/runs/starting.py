"""Starting a run in a folder of its own, and going on with it. The same for every verb that makes runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from secateur.catalogue import find
from secateur.devices.launch import Launch, LaunchEnded
from secateur.errors import ConfigurationError, EvaluationFailure, SecateurError, Stopped, StudyError, disk_fault
from secateur.paths import checked, quoted, reason
from secateur.runs.folder import LOG, open_run
from secateur.runs.launched import check_launch, help_out, launched_of
from secateur.runs.progress import Progress
from secateur.runs.settings import FILE, STUDY, RunSettings, verb_of
from secateur.study import Journal, RunLock, Store, create_store, open_store
from secateur.study.executors.processes import WORKER
from secateur.writing import clean, is_aside, remove


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
    launch = Launch.here()
    check_launch(settings.verb, settings.device, launch)
    if launch is not None and launch.rank:
        help_out(settings, launch)
    path, made = _made(settings.verb, folder)
    try:
        with RunLock(path):
            if not _free(path):
                raise _taken(path)
            clean(path)
            return _started(settings, path, progress)
    except BaseException:
        _remove_empty(made)
        raise


def _started(settings: RunSettings, path: Path, progress: Progress) -> Any:
    """Write study and settings into a locked folder, then go. What ends before there is something to resume leaves nothing."""
    store: Store | None = None
    run: Any = None
    try:
        # The study keeps the settings: from its first moment the folder is a run. It is told first where one elsewhere will be.
        if settings.store is not None:
            _write(settings, path)
        store = create_store(settings.store or path / STUDY, settings.kept(), patience=settings.store_patience)
        if settings.store is None:
            _write(settings, path)
        run = open_run(path)
        return _go(run, progress)
    except BaseException as error:
        log = path / LOG
        begun = log.is_file() and log.stat().st_size
        refused = disk_fault(error) or (error.__cause__ is not None and disk_fault(error.__cause__))
        if run is None or not (begun or isinstance(error, KeyboardInterrupt) or refused):
            if run is not None:
                run.close()
            if store is not None:
                with suppress(SecateurError, OSError):
                    store.discard()
            for name in (FILE, STUDY, f"{STUDY}-wal", f"{STUDY}-shm", LOG, "lock"):  # and nothing else that lies there
                remove(path / name)
        raise
    finally:
        if store is not None:
            store.close()


def _write(settings: RunSettings, path: Path) -> None:
    try:
        settings.write(path)
    except OSError as error:
        raise StudyError(f"`{path}` cannot be written: {reason(error)}.") from error


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _taken(folder: Path) -> StudyError:
    return StudyError(
        f"`{folder}` already exists. Continue it with `secateur resume {quoted(folder)}`, or name another folder with --to."
    )


def _free(folder: Path, *more: str) -> bool:
    """Whether a folder holds nothing, or only what was written before the run began when its process was killed."""
    return all(file.name in ("lock", *more) or is_aside(file) for file in folder.iterdir())


def _made(verb: str, folder: str | Path | None) -> tuple[Path, list[Path]]:
    """An empty folder for a run, and what was made for it, innermost first. Two processes never get the same numbered one."""
    while True:
        path = next_folder(verb) if folder is None else checked(folder, StudyError)
        if folder is not None and path.exists() and not (path.is_dir() and _free(path)):
            raise _taken(path)
        new = [one for one in (path, *path.parents) if not one.exists()]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
            return path, new
        except OSError as error:
            if isinstance(error, FileExistsError) and path.is_dir():
                if folder is not None:
                    return path, []
                continue  # another process has just made it: the next number
            _remove_empty(new)
            raise StudyError(f"`{path}` cannot be written: {reason(error)}.") from error


def go_on(folder: Path, progress: Progress, *, unsteady: bool = False, seconds: float | None = None) -> Any:
    """Go through the stages of a run that are not done yet; `unsteady`: from now on also on a device that is not steady;
    `seconds`: with these instead of those it began with.

    Raises ConfigurationError for one that the run does not have.
    """
    launch = Launch.here()
    if launch is None or not launch.rank:
        _begin_elsewhere(folder)
    run = _opened(folder)
    check_launch(run.configuration.verb, run.configuration.device, launch)
    if launch is not None and launch.rank:
        help_out(run.configuration, launch)
    given = {name: value for name, value in (("unsteady", unsteady or None), ("seconds", seconds)) if value is not None}
    for name in given:
        if not hasattr(run.configuration, name) or (name == "seconds" and run.configuration.verb != "prune"):
            raise ConfigurationError(f"`{folder}` is a run of `secateur {run.configuration.verb}`, which has no --{name}.")
    changed = replace(run.configuration, **given)
    if faults := changed.field_faults():
        raise ConfigurationError(faults)
    with RunLock(folder):
        clean(folder)
        if run.configuration.missing(folder):
            _write(run.configuration, folder)
            progress.say(f"{FILE} was missing or truncated: it was restored from the settings in {STUDY}.")
        if given:
            run.configure(changed)
        return _go(run, progress)


def _opened(folder: Path) -> Any:
    run = open_run(folder)
    if faults := run.configuration.field_faults():  # of an earlier version, another machine or somebody's editor
        raise StudyError(f"`{folder / FILE}` cannot be used here: {' '.join(faults)}")
    return run


def join(folder: Path, progress: Progress, workers: int = 1) -> Any:
    """Search with a run that is at its search, in this process beside its own, until that has ended.

    The folder is not locked. Raises StudyError where the run is not at its search.
    """
    run = _opened(folder)
    rows = Journal(run.store).rows()
    search = next((row.status for row in rows if row.name == "search"), None)
    if search == "done":
        raise StudyError(f"the search of `{folder}` has ended, so there is nothing to join. Resume it, or start another run.")
    if search is None:
        at = f"at the stage `{rows[-1].name}`" if rows else "at its beginning"
        raise StudyError(f"`{folder}` is {at}, so there is no search to join yet. Join it once its search has begun.")
    if search == "stopped":
        raise StudyError(f"the search of `{folder}` was stopped. Continue it with: secateur resume {quoted(folder)}")
    mine = {"workers": workers, **({"log_to": []} if hasattr(run.configuration, "log_to") else {})}
    changed = replace(run.configuration, **mine)
    if faults := changed.field_faults():
        raise ConfigurationError(faults)
    run.configuration = changed
    progress.say(f"{run.folder}: {run.about}")
    again = f"What was done is saved; join again with: secateur join {quoted(run.folder)}"
    return _ended(run, again, find("work", run.configuration.verb)(run, progress).join)


def _begin_elsewhere(folder: Path) -> None:
    """Make the study of a run that keeps it elsewhere, where its process was killed before that."""
    if not (folder / FILE).is_file() or not _free(folder, FILE):
        return
    settings = find("run", verb_of(folder)).settings.read(folder)
    if settings.store is None:
        return
    with RunLock(folder):
        try:
            create_store(settings.store, settings.kept()).close()
        except StudyError:
            there = open_store(settings.store)
            known = there.settings
            there.close()
            if any(known.get(name) not in (None, value) for name, value in settings.kept().items() if value is not None):
                raise  # another run's


def _go(run: Any, progress: Progress) -> Any:
    """Every stage of a locked run that is not done yet; what ends it is said in one line, with how to go on."""
    again = f"What was done is saved; continue with: secateur resume {quoted(run.folder)}"
    progress.say(f"{run.folder}: {run.about}")

    def go() -> None:
        work = find("work", run.configuration.verb)(run, progress)
        with launched_of(run.configuration, run.folder) as work.launched:
            work.go()

    return _ended(run, again, go)


def _ended(run: Any, again: str, go: Callable[[], None]) -> Any:
    try:
        go()
    except LaunchEnded:
        raise Stopped(f"the launcher ended this run: another of its processes failed, or it was stopped. {again}") from None
    except KeyboardInterrupt:
        raise Stopped(f"stopped. {again}") from None
    except EvaluationFailure as failure:
        raise StudyError(str(failure)) from failure
    except SecateurError:
        raise
    except Exception as error:
        if fault := disk_fault(error):
            raise StudyError(f"{fault}. {again}") from error
        vars(error)["run_folder"] = run.folder  # where the command line leaves the traceback
        raise
    return run
