"""Is the machine busy with something else? A measurement on a busy machine is not refused, but it says so."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from secateur.devices.cores import available_cores

#: Share of the cores' time taken by others above which the machine counts as busy.
BUSY_LIMIT = 0.25
#: Share of the wall-clock time a computing thread spent waiting above which the machine counts as busy.
WAITING_LIMIT = 0.15
#: The kernel counts in ticks of 10 ms: over a shorter window the shares are noise.
SHORTEST_WINDOW = 0.1


@dataclass(frozen=True)
class Contention:
    """How busy the machine was over a window.

    `others`: share (0…1) of the usable cores' time that went to other processes or was stolen by the hypervisor.
    `waiting`: share (0…1) of the measured run's wall-clock time in which its one thread did not compute; 0 if not known.
    """

    others: float
    waiting: float = 0.0

    @property
    def sentence(self) -> str:
        """What a user should know, or an empty string on a quiet machine."""
        found = []
        if self.others > BUSY_LIMIT:
            found.append(f"other processes took {100 * self.others:.0f} % of its cores' time")
        if self.waiting > WAITING_LIMIT:
            found.append(f"the run waited for {100 * self.waiting:.0f} % of the wall-clock time")
        said = " and ".join(found)
        return f"The machine was busy during the measurement: {said}. Measure again when it is quiet." if found else ""


class ContentionWatch:
    """Watches the machine from its creation on."""

    def __init__(self) -> None:
        self._wall, self._own, self._busy = self._now()

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """Wall-clock, this process's CPU time and the busy time of all usable cores, in seconds."""
        table = psutil.cpu_times(percpu=True)
        # In some containers the affinity names cores that the table does not have.
        cores = [table[core] for core in available_cores() if core < len(table)] or table
        # `guest` time is already part of `user`, and `iowait` is idle time with a reason.
        busy = sum(sum(t) - t.idle - sum(getattr(t, n, 0.0) for n in ("iowait", "guest", "guest_nice")) for t in cores)
        return time.perf_counter(), time.process_time(), busy

    def others(self) -> float:
        """Share (0…1) of the usable cores' time since creation that this process did not use itself and that was not idle.

        0 where the window is too short to say.
        """
        wall, own, busy = (now - then for now, then in zip(self._now(), (self._wall, self._own, self._busy), strict=True))
        if wall < SHORTEST_WINDOW:
            return 0.0
        return min(1.0, max(0.0, (busy - own) / (wall * len(available_cores()))))
