"""A driver: a process that works on a study. Its name says where it runs: others on its machine see when it has died."""

from __future__ import annotations

import os
import platform
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from secateur.errors import StudyError

#: Seconds for which a trial is lent to a driver that gives no sign of life; it gives one so many times in that time.
LEASE, BEATS = 60.0, 4

#: The drivers at work in this process.
_at_work: set[str] = set()


class Driver:
    """One loop over a study in this process."""

    def __init__(self) -> None:
        self.name = f"{_machine()}:{os.getpid()}:{_born(os.getpid())}:{secrets.token_hex(4)}"

    @contextmanager
    def at_work(self, beat: Callable[[], None], pause: float) -> Iterator[None]:
        """While the block runs, others see this driver alive, and `beat` is called every `pause` seconds."""
        done = threading.Event()

        def keep_on() -> None:
            while not done.wait(pause):
                with suppress(StudyError):  # the loop itself meets the same, and says so
                    beat()

        thread = threading.Thread(target=keep_on, name="secateur-lease", daemon=True)
        _at_work.add(self.name)
        thread.start()
        try:
            yield
        finally:
            done.set()
            _at_work.discard(self.name)
            thread.join()


def has_died(name: str) -> bool:
    """Whether a driver of this name is known to work no more: of one on another machine, nothing is known."""
    try:
        machine, process, born, _ = name.rsplit(":", 3)
        number = int(process)
    except ValueError:
        return False
    if machine != _machine():
        return False
    if number == os.getpid():
        return name not in _at_work
    return _born(number) != born


def _machine() -> str:
    """This machine, or the container in it: where the number of a process means the same."""
    try:
        processes = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        processes = 0
    return f"{platform.node()}:{processes}"


def _born(process: int) -> str:
    """When a process was started, so that a later one of its number is not taken for it; empty where there is none."""
    try:
        state, *fields = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return "" if state in "ZX" else fields[18]  # in ticks since the machine started, whatever its clock says
    except (OSError, IndexError):
        pass
    import psutil

    try:
        return f"{psutil.Process(process).create_time():.2f}"
    except psutil.Error:
        return ""
