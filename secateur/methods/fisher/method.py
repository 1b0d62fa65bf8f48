"""Fisher pruning as a method: masks for each share of the unpruned network's operations or latency, tuned one by one."""

from __future__ import annotations

import numpy as np
from safetensors.numpy import load_file, save_file

from secateur.anatomy.base import HEADS, UNITS
from secateur.architecture import Architecture
from secateur.estimators.base import Estimator
from secateur.methods.base import Step
from secateur.methods.fine_tuned_first import FineTunedFirst
from secateur.methods.fisher.error import TunedMasksError
from secateur.methods.fisher.examples import SCORED
from secateur.methods.fisher.information import block, diagonal, mask_gradients
from secateur.methods.fisher.rearrange import rearranged
from secateur.methods.fisher.search import search_masks
from secateur.methods.fisher.sizes import masked
from secateur.methods.ordering import scored_batches
from secateur.methods.prices import Constraint, by_latency, by_operations, within_sizes
from secateur.writing import remove, whole

#: The gradients of masks: kept until the run is done.
GRADIENTS = "mask-gradients.safetensors"
#: The shares of what the unpruned network's layers cost.
SHARES = tuple(tenths / 10 for tenths in range(1, 10))


class Fisher(FineTunedFirst):
    """Candidates for shares of the latency where that is an objective, else of multiply-accumulate operations."""

    spaces = ("large",)
    lists = True
    own = True

    def stages(self) -> list[Step]:
        return [*super().stages(), ("information", self.information)]

    def information(self) -> None:
        """The gradients of all masks, example by example."""
        with scored_batches(self.bench, "computing the Fisher information", SCORED) as batches:
            found = mask_gradients(self.bench.supernet, batches)
        with whole(self.bench.networks / GRADIENTS) as draft:
            save_file({HEADS: found.heads, UNITS: found.units}, draft)

    def candidates(self) -> list[Architecture]:
        """One for each share; and for each size that will be polished, one of as many parameters."""
        layers = range(self.bench.supernet.shape.layers)
        gradients = load_file(self.bench.networks / GRADIENTS)
        alone = {by: diagonal(found) for by, found in gradients.items()}
        blocks = {by: [block(found[:, layer]) for layer in layers] for by, found in gradients.items()}
        chosen = []
        for prices, budget in self.constraints():
            masks = search_masks(alone[HEADS], alone[UNITS], prices, budget)
            better = [np.array(list(map(rearranged, mask, blocks[by]))) for by, mask in zip((HEADS, UNITS), masks, strict=True)]
            if any(mask.any() for mask in better):
                chosen.append(masked(self.bench.supernet.shape, (better[0], better[1])))
        return chosen

    def constraints(self) -> list[Constraint]:
        bench, prices = self.bench, by_latency(self.bench) or by_operations(self.bench)
        found = [(prices, share * prices.whole(bench.supernet.shape)) for share in SHARES]
        return [*found, *within_sizes(bench.supernet, bench.c.levels())] if bench.c.polish else found

    def estimators(self) -> list[Estimator]:
        return [TunedMasksError.of(self.bench, self.bench.space)]

    def passes(self) -> dict[str, float]:
        return {**super().passes(), "information": 3.0 * min(SCORED, len(self.bench.data.train))}

    def tidy(self) -> None:
        super().tidy()
        remove(self.bench.networks / GRADIENTS)
