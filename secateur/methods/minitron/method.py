"""Minitron as a method: score by activations, cut once to several shapes of each size, heal the best by distillation.

The paper's light retraining that ranks its candidates, and the healing of the best, are what polishing does after the search:
`candidates` shapes of each size begin, the best goes on, and the unpruned network teaches. The paper heals by the teacher's
logits alone: `label_weight` 0, `temperature` 1. It also narrows the model's width, which no space here does.
"""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import ClassVar

import numpy as np
from safetensors.numpy import load_file, save_file

from secateur.architecture import Architecture
from secateur.checkpoints import load
from secateur.checkpoints.pretrained import load_model
from secateur.errors import ConfigurationError
from secateur.estimators.base import Estimator
from secateur.estimators.shared_weights import SharedWeightsError
from secateur.methods.base import Method, Step
from secateur.methods.minitron.activations import Activations, activation_importance
from secateur.methods.ordering import scored_batches
from secateur.spaces.pruning.sizes import largest_below
from secateur.supernet import Supernet
from secateur.writing import whole

#: The file with the scores.
SCORES = "activations.safetensors"


class Minitron(Method):
    """For each level some shapes of about that size, from all layers down to half of them, scored before any healing."""

    spaces = ("large",)
    lists = True
    uses: ClassVar[tuple[str, ...]] = ("candidates",)

    def network(self) -> Supernet:
        bench = self.bench
        if bench.data.task.kind != "language_modelling":
            raise ConfigurationError(
                f"the method `minitron` prunes language models as they are, and the task is {bench.data.task.kind}: "
                "its head would be untrained. Choose one-shot, which fine-tunes first."
            )
        if bench.done(self.keeps):
            return Supernet(load(bench.networks).to(bench.device))
        return Supernet(load_model(bench.c.model, bench.data, seed=bench.c.seed, device=bench.device))

    def stages(self) -> list[Step]:
        return [("importance", self.importance)]

    def importance(self) -> None:
        """Score heads, units and layers of the unpruned network."""
        with scored_batches(self.bench, "scoring by activations", self.bench.c.importance_examples) as batches:
            found = activation_importance(self.bench.supernet, batches)
        with whole(self.bench.networks / SCORES) as draft:
            save_file(found.as_arrays(), draft)

    def candidates(self) -> list[Architecture]:
        """One of each level before the second of each; first with all layers, then with fewer."""
        bench = self.bench
        found = Activations(**load_file(bench.networks / SCORES))
        unpruned = bench.supernet.body_parameters(bench.supernet.whole)
        limits = [bound.resolve(unpruned) for bound in bench.c.levels()]
        several = [[self._shape(found, depth, limit) for depth in self._depths(found, limit)] for limit in limits]
        rounds = (shape for row in zip_longest(*several) for shape in row)
        return [architecture for architecture in rounds if architecture is not None]

    def _depths(self, found: Activations, limit: float) -> list[int]:
        """At most `candidates` numbers of layers, from all down to half: those that have to be narrowed to meet the limit."""
        space, shape = self.bench.space, self.bench.supernet.shape

        def cost(depth: int) -> float:
            whole_layers = found.masks(depth, shape.heads, shape.units)
            return self.bench.supernet.body_parameters(space.plan(space.from_values(whole_layers.ravel())))

        depths = range(shape.layers, max(1, math.ceil(shape.layers / 2)) - 1, -1)
        narrowed = [depth for depth in depths if cost(depth) >= limit] or [shape.layers]
        places = np.linspace(0, len(narrowed) - 1, self.bench.c.candidates).round().astype(int)
        return [narrowed[place] for place in np.unique(places)]

    def _shape(self, found: Activations, depth: int, limit: float) -> Architecture | None:
        """The widest of so many layers within the limit, heads and units cut by the same share."""
        space, shape = self.bench.space, self.bench.supernet.shape

        def line(at: float) -> Architecture:
            heads, units = (max(1, math.ceil(at * count)) for count in (shape.heads, shape.units))
            return space.from_values(found.masks(depth, heads, units).ravel())

        return largest_below(space, line, self.bench.supernet.body_parameters, limit)

    def estimators(self) -> list[Estimator]:
        bench = self.bench
        return [SharedWeightsError(bench.supernet, bench.space, bench.data, batch_size=bench.c.evaluation_batch, depths=False)]

    def passes(self) -> dict[str, float]:
        return {"importance": 1.0 * min(self.bench.c.importance_examples, len(self.bench.data.train))}
