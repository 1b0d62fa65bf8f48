"""Budgets that rise by a factor, and what searchers on them share: the best of each go on to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.search.best_first import ORDERS
from secateur.search.random import Random
from secateur.spaces.base import Space


class OnRungs(Random):
    """Random draws at budgets from `least` to `most`, each `eta` times the one before. The best of a rung are those of the
    lowest non-dominated front; `order` ranks the members of one front."""

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        least: float = 1.0,
        most: float = 9.0,
        eta: int = 3,
        order: str = "told",
        **more: Any,
    ) -> None:
        super().__init__(space, objectives, *base, **more)
        if order not in ORDERS:
            raise ConfigurationError(f"`order` must be one of {', '.join(ORDERS)}, got {order}.")
        self.rungs = rungs(least, most, eta)
        self.eta = eta
        self.order = order


def rungs(least: float, most: float, eta: int) -> tuple[float, ...]:
    """least, least · eta, … below most, then most.

    Raises ConfigurationError where these are no rungs.
    """
    faults = []
    if eta < 2:
        faults.append(f"`eta` must be at least 2, got {eta}.")
    if not 0 < least <= most:
        faults.append(f"the least budget must be above 0 and at most the largest ({most:g}), got {least:g}.")
    if faults:
        raise ConfigurationError(faults)
    found = [least]
    while found[-1] * eta < most:
        found.append(found[-1] * eta)
    return (*found, most) if most > found[-1] else tuple(found)
