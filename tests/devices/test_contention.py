from __future__ import annotations

import subprocess
import sys
import time
from collections import namedtuple

import psutil
import pytest

from secateur.devices.contention import BUSY_LIMIT, WAITING_LIMIT, Load, LoadWatch
from secateur.devices.device import available_cores

Times = namedtuple("Times", "user system idle iowait steal guest")


def test_a_quiet_machine_has_nothing_to_say() -> None:
    load = Load(BUSY_LIMIT, WAITING_LIMIT)
    assert not load.loaded
    assert load.sentence == ""


@pytest.mark.parametrize(
    ("load", "words"),
    [(Load(0.5), "50% of its cores' time"), (Load(0.0, 0.4), "waited for 40%"), (Load(0.5, 0.4), "and the run waited")],
)
def test_a_loaded_machine_is_said(load: Load, words: str) -> None:
    assert load.loaded
    assert words in load.sentence


def test_the_share_is_busy_time_less_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = available_cores()
    watch = LoadWatch()
    clocks = {"wall": 10.0, "own": 3.0}
    watch._wall, watch._own, watch._busy = 0.0, 0.0, 0.0
    # Each core was busy for 6 of 10 s (1 s of it stolen); waiting for a disk is not busy, and guest time is within user time.
    core = Times(user=4.0, system=1.0, idle=3.0, iowait=1.0, steal=1.0, guest=2.0)
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: [core] * (max(cores) + 1))
    monkeypatch.setattr(time, "perf_counter", lambda: clocks["wall"])
    monkeypatch.setattr(time, "process_time", lambda: clocks["own"])
    assert watch.others() == pytest.approx((6.0 * len(cores) - 3.0) / (10.0 * len(cores)))
    clocks["wall"] = 0.01
    assert watch.others() == 0.0, "too short a window says nothing"


def test_busy_neighbours_are_seen() -> None:
    """As many spinning processes as cores take most of the time while this one sleeps."""
    spin = "import time\nend = time.time() + 20\nwhile time.time() < end: pass"
    spinners = [subprocess.Popen([sys.executable, "-c", spin]) for _ in available_cores()]
    try:
        time.sleep(0.3)
        watch = LoadWatch()
        time.sleep(0.5)
        load = watch.others()
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    assert BUSY_LIMIT < load <= 1.0
