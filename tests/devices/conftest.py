"""Clocks that stand still unless a test moves them."""

from __future__ import annotations

import time

import pytest


class Clock:
    """What `time` says: the wall clock, and the CPU time of thread and process."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def tick(self, wall: float, cpu: float | None = None) -> None:
        """Let time pass; the CPU works all the while unless told otherwise."""
        self.wall += wall
        self.cpu += wall if cpu is None else cpu


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "perf_counter", lambda: made.wall)
    for name in ("thread_time", "process_time"):
        monkeypatch.setattr(time, name, lambda: made.cpu)
    return made
