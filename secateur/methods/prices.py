"""What heads, units and layers cost: in parameters, operations or seconds. For methods that choose masks within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from secateur.methods.base import Bench
from secateur.objectives import Bound
from secateur.spaces.pruning import Shape
from secateur.supernet import Supernet


class Prices(NamedTuple):
    """What each head and unit costs, in operations, seconds, …; and what each layer does that has any heads, or any units."""

    head: float
    unit: float
    attention: float = 0.0
    feed_forward: float = 0.0

    def whole(self, shape: Shape) -> float:
        """The cost of all layers unpruned."""
        return shape.layers * (self.attention + self.feed_forward + shape.heads * self.head + shape.units * self.unit)


#: What heads and units cost, and what may be spent.
Constraint = tuple[Prices, float]


def within_sizes(supernet: Supernet, levels: Sequence[Bound]) -> list[Constraint]:
    """At most so many parameters in the layers; what a layer has in any case counts for all layers."""
    (counts, *_), whole = supernet.counts, supernet.body_parameters(supernet.whole)
    prices = Prices(counts.per_head, counts.per_unit, counts.with_heads, counts.with_units)
    return [(prices, level.resolve(whole) - supernet.shape.layers * counts.always) for level in levels]


def by_latency(bench: Bench) -> Prices | None:
    """By the latency model, where the run has one."""
    if (model := bench.latency_model) is None:
        return None
    costs = model.coefficients
    return Prices(costs["heads"], costs["units"], costs["attention"], costs["feed_forward"])


def by_operations(bench: Bench) -> Prices:
    (counts, *_) = bench.supernet.counts
    return Prices(counts.macs(1, 0, 1, bench.length), counts.macs(0, 1, 1, bench.length))
