"""Which estimator measures which quantity."""

from __future__ import annotations

from collections.abc import Iterable

from secateur.devices.setup import Setup
from secateur.estimators.base import Estimator
from secateur.estimators.building import Build
from secateur.estimators.latency import LatencyEstimator
from secateur.estimators.memory import MemoryEstimator

#: Quantity → what measures it on the device.
MEASURED = {"latency": LatencyEstimator, "memory": MemoryEstimator}


def measuring(
    names: Iterable[str], build: Build, setup: Setup, *, identity: str, memory: Build | None = None
) -> list[Estimator]:
    """Estimators for those of the named quantities that are measured. `memory` builds what memory alone is followed on."""
    builders = {"memory": memory or build}
    wanted = set(names)
    return [kind(builders.get(name, build), setup, identity=identity) for name, kind in MEASURED.items() if name in wanted]
