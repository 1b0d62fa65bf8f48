"""Which searcher a design run has, and what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from secateur.architecture import Architecture
from secateur.objectives import QUANTITIES, Objective
from secateur.rng import generator
from secateur.search.exact import Solution
from secateur.search.layer_sums import LayerSums, told_by
from secateur.spaces.decoder import Decoder

#: Quantities that follow from sums over layers, where candidates are not measured.
ADDING_UP = ("decoder_parameters", "parameters", "macs", "latency", "memory")
#: How many architectures of an exact front evolution begins with.
START = 50


def not_adding_up(names: Sequence[str], measure: str) -> list[str]:
    """Which of these quantities do not follow from sums over layers; what is measured of every candidate does not."""
    measured = ("latency", "memory") if measure == "all" else ()
    return [name for name in names if name not in ADDING_UP or name in measured]


def exact_start(
    space: Decoder, sums: Sequence[LayerSums], objectives: Sequence[Objective], bounds: Sequence[Objective], seed: int
) -> list[Architecture]:
    """Some of the exact front of what comes nearest to the objectives and adds up: decoder parameters for another proxy, and
    multiply-accumulates for a latency that is measured."""
    known = told_by(sums)
    alike = {o.name: o if o.name in known else _nearest(o) for o in objectives}
    wanted = list({o.name: o for o in alike.values()}.values())
    solution = Solution.of(space, sums, wanted, [o for o in bounds if o.name in known])
    order = solution.order(generator(seed, "start"))
    return [solution.architecture(place) for place in islice(order, START)]


def _nearest(objective: Objective) -> Objective:
    name = "decoder_parameters" if objective.direction == "max" else "macs"
    return Objective(name, QUANTITIES[name].direction)
