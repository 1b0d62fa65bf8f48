"""Latencies of several networks that will be compared, measured in turns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from secateur.architecture import Architecture
from secateur.estimators.base import Estimator

#: key → what its turns gave: turns, seconds, and values with details of the quickest, or the failure.
Found = dict[str, dict[str, Any]]


def measure_in_turns(
    estimator: Estimator,
    architectures: Sequence[Architecture],
    *,
    turns: int,
    seconds: float = math.inf,
    wanted: Callable[[Architecture, Found], bool] = lambda _architecture, _found: True,
    found: Found | None = None,
    save: Callable[[Found], None] = lambda _found: None,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
) -> Found:
    """Each network is measured `turns` times (A B C … A B C …), or until `seconds` were spent on it, or where it is no longer
    `wanted` after what was found; the lowest of its medians counts.

    Other work, on this machine or beside it, only ever slows a pass down, and for seconds at a time: networks measured one
    after the other would meet different machines. `found` holds what earlier runs had measured; `save` is called after each
    measurement, `advance(done, total)` after each turn, taken or not.
    """
    found = {} if found is None else found
    for turn in range(turns):
        for place, architecture in enumerate(architectures):
            entry = found.get(architecture.key, {"turns": 0, "seconds": 0.0})
            left = entry["turns"] <= turn and entry["seconds"] < seconds and "failure" not in entry
            if left and wanted(architecture, found):
                began = time.perf_counter()
                evaluation = estimator.evaluate([architecture])[0]
                entry["turns"] += 1
                entry["seconds"] += time.perf_counter() - began
                if evaluation.failure is not None:
                    entry["failure"] = evaluation.failure
                elif "values" not in entry or evaluation.values["latency"] < entry["values"]["latency"]:
                    entry |= {"values": dict(evaluation.values), "details": dict(evaluation.details)}
                found[architecture.key] = entry
                save(found)
            advance(turn * len(architectures) + place + 1, turns * len(architectures))
    return found
