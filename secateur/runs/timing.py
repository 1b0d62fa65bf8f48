"""Time left: of the stage that runs, from its own pace; of the stages after it, from what they plan and the paces so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Effort(NamedTuple):
    """What a stage is expected to take: examples passed forward through the whole network, at whatever pace this machine does
    them, and seconds that do not depend on it. A backward pass counts as two forward ones."""

    passes: float = 0.0
    seconds: float = 0.0


class TimeLeft:
    """An estimate that gets better as a run goes on. `efforts`: the stages that are left to do, in order."""

    def __init__(self, efforts: Mapping[str, Effort | None] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.ahead = dict(efforts or {})
        self.clock = clock
        self._stage: Effort | None = None
        self._share = 0.0
        self._first: tuple[float, float] | None = None  # the share and the time at which the stage's pace began to be taken
        self._measured = Effort()  # what the stages so far planned and took, for their pace

    def begin(self, stage: str) -> None:
        """A stage begins."""
        self._stage = self.ahead.pop(stage, None)
        self._share, self._first = 0.0, None

    def reach(self, share: float) -> None:
        """This share of the stage is done. The first call after its begin, or after a resume, only starts the clock."""
        if self._first is None:
            self._first = share, self.clock()
        self._share = share

    def end(self) -> None:
        """The stage is done: its pace counts for those after it."""
        whole = self._whole()
        if whole is not None and self._stage is not None and self._stage.passes:
            self._measured = self._with_stage(whole)
        self._stage = self._first = None

    @property
    def of_stage(self) -> float | None:
        """Seconds left in this stage; None where nothing is known of its pace."""
        whole = self._whole()
        if whole is None:
            whole = self._expected(self._stage, self._measured)
        return None if whole is None else (1 - self._share) * whole

    @property
    def of_run(self) -> float | None:
        """Seconds left in the whole run; None as long as nothing is known of some stage, or there are no stages."""
        whole, known = self._whole(), self._measured
        if whole is not None and self._stage is not None and self._stage.passes:
            known = self._with_stage(whole)
        left = [self.of_stage, *(self._expected(effort, known) for effort in self.ahead.values())]
        if self._stage is None and not self.ahead:
            return None
        return None if None in left else sum(seconds for seconds in left if seconds is not None)

    def _whole(self) -> float | None:
        """Seconds of the whole stage at its own pace so far."""
        if self._first is None or self._share <= self._first[0]:
            return None
        return (self.clock() - self._first[1]) / (self._share - self._first[0])

    @staticmethod
    def _expected(effort: Effort | None, known: Effort) -> float | None:
        """Seconds of a stage at the pace of what is known."""
        if effort is None or (effort.passes and not known.passes):
            return None
        return effort.seconds + (effort.passes * known.seconds / known.passes if effort.passes else 0.0)

    def _with_stage(self, whole: float) -> Effort:
        """The passes and the seconds for them, of the stages so far and of this one."""
        assert self._stage is not None
        passes, seconds = self._measured
        return Effort(passes + self._stage.passes, seconds + max(0.0, whole - self._stage.seconds))


def clock_text(seconds: float) -> str:
    """Seconds as 1:10 or 2:03:00."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def about(seconds: float) -> str:
    """Seconds in round words: 40 s, 6 min, 1 h 20 min, 14 h."""
    if seconds < 55:
        return f"{max(5, 5 * round(seconds / 5))} s"
    if seconds < 3570:
        return f"{max(1, round(seconds / 60))} min"
    tens = round(seconds / 600)
    hours, minutes = tens // 6, 10 * (tens % 6)
    return f"{hours} h {minutes} min" if minutes and hours < 10 else f"{hours} h"
