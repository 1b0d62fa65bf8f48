"""One shot: fine-tune, order by importance, slice, fine-tune the slices with the unpruned network as teacher.

No super-network: what weight sharing has to beat.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from secateur.architecture import Architecture
from secateur.estimators.base import Estimator
from secateur.methods.ordered_first import OrderedFirst
from secateur.methods.standard import Standard
from secateur.spaces.pruning.sizes import largest_below
from secateur.training.teacher import taught_by


class OneShot(OrderedFirst, Standard):
    """For each level some shapes of about that size, from all layers down to half of them: nothing is searched."""

    spaces = ("small",)
    lists = True
    budgets = False
    uses: ClassVar[tuple[str, ...]] = (*Standard.uses, "candidates")

    def candidates(self) -> list[Architecture]:
        """One of each level before the second of each."""
        bench = self.bench
        whole = bench.supernet.body_parameters(bench.supernet.whole)
        limits = [bound.resolve(whole) for bound in bench.c.levels()]
        some = self.bench.space.domains[2].members()
        most = [depth for depth in reversed(some) if depth >= some[-1] / 2]
        places = np.unique(np.linspace(0, len(most) - 1, bench.c.candidates).round().astype(int))
        found = (self._shape(most[place], limit) for place in places for limit in limits)
        return [architecture for architecture in found if architecture is not None]

    def _shape(self, depth: int, limit: float) -> Architecture | None:
        """The widest of so many layers within the limit, heads and units cut by the same share."""
        space = self.bench.space
        widths = [domain.members() for domain in space.domains[:2]]

        def line(at: float) -> Architecture:
            heads, units = (known[math.ceil(at * (len(known) - 1))] for known in widths)
            return space.make({"heads": heads, "units": units, "layers": depth})

        return largest_below(space, line, self.bench.supernet.body_parameters, limit)

    def estimators(self) -> list[Estimator]:
        bench = self.bench  # the network that is sliced is also the teacher
        return [self._fine_tuned(bench.supernet, **taught_by(bench.supernet.model, bench.data, bench.c.evaluation_batch))]

    @property
    def expected(self) -> float:
        return float(self.bench.c.candidates * sum(b.value if b.relative else 0.3 for b in self.bench.c.levels()))
