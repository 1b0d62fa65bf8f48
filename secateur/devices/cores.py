"""The cores of this machine."""

from __future__ import annotations

import os


def available_cores() -> list[int]:
    """The numbers of the cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
