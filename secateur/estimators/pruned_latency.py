"""What the latency of a sub-network is made of: a constant for what is around its layers, a cost for each attention and each
feed-forward layer, and one for each head and unit.

That is enough: see recipes/prune-methods/latency.csv for its errors on networks that it was not fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.estimators.latency_parts import Parts
from secateur.rng import Generator
from secateur.spaces.pruning import Medium, Plan, Shape, plan_of

#: Of the networks to fit to, the share whose layers have no attention, and as many have no feed-forward: else what the two cost
#: could not be told apart.
WITHOUT = 0.15


class PrunedParts(Parts):
    """Sub-networks of one network, of whatever pruning space. A stratum is a number of layers."""

    layers = ("attention", "feed_forward", "heads", "units")
    around = ("outside",)

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def of_layers(self, architecture: Architecture) -> Sequence[float]:
        return self.of_plan(plan_of(architecture, self.shape))

    def of_plan(self, plan: Plan) -> Sequence[float]:
        heads, units = [p.heads.count for p in plan.layers], [p.units.count for p in plan.layers]
        return sum(h > 0 for h in heads), sum(u > 0 for u in units), sum(heads), sum(units)

    def of_around(self, architecture: Architecture) -> Sequence[float]:
        return (1,)

    def size(self, architecture: Architecture) -> float:
        _, _, heads, units = self.of_layers(architecture)
        return heads / self.shape.heads + 2 * units / self.shape.units  # a feed-forward has twice the weights

    def stratum(self, architecture: Architecture) -> str:
        return str(len(plan_of(architecture, self.shape).layers))

    def pool(self, count: int, rng: Generator) -> list[Architecture]:
        """The unpruned network, the one without layers, and draws of depth, heads and units: layers alike, as their sums then
        differ most."""
        space, shape = Medium(self.shape), self.shape
        found = [space.smallest(), space.largest()]
        while len(found) < count:
            depth, heads, units = (int(rng.integers(1, most + 1)) for most in (shape.layers, shape.heads, shape.units))
            without = rng.random()
            pair = (0 if without < WITHOUT else heads, 0 if without > 1 - WITHOUT else units)
            values = np.zeros((shape.layers, 2), dtype=np.int64)
            values[:depth] = pair
            found.append(space.from_values(values.reshape(-1)))
        return found
