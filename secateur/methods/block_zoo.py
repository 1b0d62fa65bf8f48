"""The block zoo as a method (Lee et al. 2022): candidates are assembled from layers that are distilled on a few batches.

What standard NAS fine-tunes for each candidate is replaced by a proxy: the error of the assembled network. The best are trained
when they are polished, and begin with the zoo's layers.
"""

from __future__ import annotations

from typing import ClassVar

from secateur.estimators.base import Estimator
from secateur.estimators.layer_zoo.error import LayerZooError
from secateur.estimators.layer_zoo.features import BATCH, drawn_batches
from secateur.estimators.layer_zoo.zoo import LayerZoo
from secateur.methods.base import TRIALS, Bench
from secateur.methods.fine_tuned_first import SCRATCH
from secateur.methods.ordered_first import OrderedFirst
from secateur.methods.standard import Standard

#: The folder of blocks, kept until the run is done.
ZOO = "zoo"


def zoo_of(bench: Bench, batches: int) -> LayerZoo:
    """The zoo of the bench's network, on so many batches."""
    drawn = drawn_batches(bench.data, batches, bench.c.seed)
    return LayerZoo(bench.supernet, drawn, bench.networks / SCRATCH / ZOO)


class BlockZoo(OrderedFirst, Standard):
    """The fine-tuned and ordered network teaches. Of each trial on the front the assembled weights are kept."""

    budgets = False
    uses: ClassVar[tuple[str, ...]] = ("zoo_batches",)

    def estimators(self) -> list[Estimator]:
        bench, folder = self.bench, self.bench.networks / TRIALS
        zoo = zoo_of(bench, bench.c.zoo_batches)
        return [LayerZooError(zoo, bench.space, bench.data, folder, batch_size=bench.c.evaluation_batch)]

    def passes(self) -> dict[str, float]:
        c = self.bench.c
        distilled = 3.0 * BATCH * c.zoo_batches
        return {**super().passes(), "search": self.expected * (distilled + len(self.bench.data.validation))}
