"""The processes of a launch on one run: the first goes through its stages, the others train with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from secateur.catalogue import find
from secateur.devices.launch import Group, Launch
from secateur.errors import ConfigurationError
from secateur.paths import quoted
from secateur.runs.folder import open_run
from secateur.runs.progress import Progress
from secateur.runs.settings import RunSettings


class Launched:
    """What the first process knows of the others. Where there are none, it does nothing.

    `local` is the number of processes on this machine: so many search later, each on a device of its own.
    """

    def __init__(self, group: Group | None = None, folder: Path = Path()) -> None:
        self.group, self.folder = group, folder
        self.local = 1 if group is None else group.launch.local
        self._joint: set[str] = set()

    def plan(self, left: Collection[str], joint: Collection[str]) -> None:
        """The stages that are left to do, and those that all processes do together."""
        self._joint = {*left} & {*joint}

    @contextmanager
    def at(self, stage: str) -> Iterator[None]:
        """Within the context the first process is at this stage. The others are let go before the first one without them."""
        if self.group is None:
            yield
        elif stage in self._joint:
            launcher = f"torchrun --nproc-per-node {self.local} -m secateur"
            again = f"What was done is saved; continue with: {launcher} resume {quoted(self.folder)}"
            self.group.say({"folder": str(self.folder.resolve()), "stage": stage})
            with self.group.training(again):
                yield
            self._joint.discard(stage)
        else:
            if not self._joint:
                self.group.leave()
            yield


def check_launch(verb: str, device: str, launch: Launch | None) -> None:
    """Raise ConfigurationError where several processes cannot work on one run."""
    if launch is None:
        return
    if verb != "prune":
        raise ConfigurationError(f"`secateur {verb}` is one process: start it without a launcher.")
    if ":" in device:
        raise ConfigurationError(
            f"`device` must be auto, cuda or cpu where a launcher starts {launch.processes} processes, each with its own GPU, "
            f"got {device}."
        )


@contextmanager
def launched_of(settings: RunSettings, folder: Path) -> Iterator[Launched]:
    """The processes of this launch, for the first of them. When it is done with the run, however that ends, they are let go."""
    launch = Launch.here()
    if launch is None:
        yield Launched()
        return
    group = Group(launch, _kind(settings.device))
    try:
        yield Launched(group, folder)
    except BaseException:
        group.let_go()  # it is not left: that may wait for a process that is gone
        raise
    group.leave()


def help_out(settings: RunSettings, launch: Launch) -> NoReturn:
    """What every process but the first does: train with it when it says so, until it says that this was all. Writes and prints
    nothing; the process ends here."""
    group = Group(launch, _kind(settings.device))
    try:
        while (said := group.hear()) is not None:
            run = open_run(said["folder"])
            work = find("work", run.configuration.verb)(run, Progress(False))
            work.prepare()
            work.method.trainings()[said["stage"]]()
            run.close()
    except BaseException as error:
        group.give_up(error)
        raise
    group.leave()
    raise SystemExit(0)


def _kind(device: str) -> str:
    from secateur.devices.device import resolve_device

    return resolve_device(device).type
