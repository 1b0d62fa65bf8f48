from __future__ import annotations

from collections import namedtuple
from typing import Any

import psutil
import pytest

from secateur.devices.contention import BUSY_LIMIT, WAITING_LIMIT, Contention, ContentionWatch
from secateur.devices.cores import available_cores

Times = namedtuple("Times", "user system idle iowait steal guest")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Contention(BUSY_LIMIT, WAITING_LIMIT), ""),
        (Contention(0.5), "50 % of its cores' time"),
        (Contention(0.0, 0.4), "waited for 40 %"),
        (Contention(0.5, 0.4), "and the run waited"),
    ],
)
def test_a_busy_machine_is_said_and_a_quiet_one_is_not(found: Contention, words: str) -> None:
    assert words in found.sentence
    assert bool(found.sentence) == bool(words)


@pytest.mark.parametrize("listed", ["all", "fewer than the affinity names"])
def test_the_share_is_busy_time_less_our_own(monkeypatch: pytest.MonkeyPatch, clock: Any, listed: str) -> None:
    cores = available_cores()
    table = [Times(0, 0, 0, 0, 0, 0)] * (max(cores) + 1)
    if listed != "all":
        monkeypatch.setattr("secateur.devices.contention.available_cores", lambda: [7])
        cores, table = [7], table[:1]
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: table)
    watch = ContentionWatch()
    # Each core was busy for 6 of 10 s (1 s of it stolen); waiting for a disk is not busy, and guest time is within user time.
    table[:] = [Times(user=4.0, system=1.0, idle=3.0, iowait=1.0, steal=1.0, guest=2.0)] * len(table)
    clock.tick(0.01, cpu=3.0)
    assert watch.others() == 0.0, "too short a window says nothing"
    clock.tick(9.99, cpu=0.0)
    assert watch.others() == pytest.approx((6.0 * len(cores) - 3.0) / (10.0 * len(cores)))
