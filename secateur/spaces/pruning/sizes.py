"""Architectures of a wanted size: what uniform draws hardly meet at the small end of a space."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from secateur.architecture import Architecture
from secateur.rng import Generator
from secateur.spaces.pruning.base import PruningSpace
from secateur.spaces.pruning.plan import Plan

#: What a plan costs: something that rises with what it keeps.
PlanCost = Callable[[Plan], float]
#: Halvings that find a size; more than any network has parts.
STEPS = 40
#: A draw is aimed at a size between this share of a limit and the limit.
LEAST = 0.8


def largest_below(
    space: PruningSpace, line: Callable[[float], Architecture], cost: PlanCost, limit: float
) -> Architecture | None:
    """The last architecture of a line (0 to 1, costs rising) that costs at most the limit; None where the first costs more."""
    if cost(space.plan(line(1.0))) <= limit:
        return line(1.0)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if cost(space.plan(line(middle))) <= limit:
            low = middle
        else:
            high = middle
    found = line(low)
    return found if cost(space.plan(found)) <= limit else None


def aimed(space: PruningSpace, cost: PlanCost, limits: Sequence[float]) -> Callable[[Generator], Architecture]:
    """A draw of random shapes whose cost lies just below one of the limits, each as often."""

    def draw(rng: Generator) -> Architecture:
        limit = limits[int(rng.integers(len(limits)))] * (LEAST + (1 - LEAST) * rng.random())
        weights = 1 - rng.random(space.dimensions)
        found = largest_below(space, space.line(weights), cost, limit)
        if found is None or not space.plan(found).layers:  # one of everything is too much already
            found = largest_below(space, space.line(weights, least=False), cost, limit)
        return found or space.smallest()

    return draw
