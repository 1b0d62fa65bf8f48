"""What is measured on a device: the estimators that the table of quantities names."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from secateur.devices.setup import Setup
from secateur.estimators.base import Estimator
from secateur.estimators.building import Build
from secateur.objectives import QUANTITIES


def measuring(
    names: Iterable[str], build: Build, setup: Setup, *, identity: str, memory: Build | None = None
) -> list[Estimator]:
    """Estimators for those of the named quantities that are measured. `memory` builds what memory alone is followed on."""
    wanted, found = set(names), []
    for name, quantity in QUANTITIES.items():
        if quantity.measured is not None and name in wanted:
            module, _, kind = quantity.measured.partition(":")
            builder = memory if name == "memory" and memory is not None else build
            found.append(getattr(import_module(module), kind)(builder, setup, identity=identity))
    return found
