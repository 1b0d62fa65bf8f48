"""Learned masks as a method: one training on the way down through all sizes, each kept with the weights that it has there."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, ClassVar

from safetensors.numpy import load_file, save_file

from secateur.anatomy.base import HEADS, UNITS
from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.estimators.base import Estimator
from secateur.estimators.own_weights import OwnWeightsError, save_weights
from secateur.methods.base import TRIALS, Step
from secateur.methods.fine_tuned_first import SCRATCH, FineTunedFirst, advising
from secateur.methods.fisher.information import summed_diagonal
from secateur.methods.fisher.sizes import masked
from secateur.methods.learned_masks.scores import Scores, Switches
from secateur.methods.learned_masks.spending import Descent
from secateur.methods.learned_masks.training import Budget, Learning, learn_masks
from secateur.methods.ordering import SCORED, scored_batches
from secateur.methods.prices import Prices, by_speed, within_sizes
from secateur.objectives import Bound, Objective
from secateur.supernet import Supernet
from secateur.training.settings import TrainingSettings
from secateur.training.teacher import taught_by
from secateur.writing import remove, whole, write_whole

#: The importance that scores begin by; and what was kept at each share: architectures, in the order of the shares.
IMPORTANCE, FOUND = "mask-importance.safetensors", "learned-masks.json"


class LearnedMasks(FineTunedFirst):
    """The fine-tuned network learns under masks, with itself, as it was, as teacher. Sizes are those that will be polished:
    shares of the latency or of operations where these are objectives, else of the parameters in the layers."""

    spaces = ("large",)
    lists = True
    own = True
    uses: ClassVar[tuple[str, ...]] = ("learning_rate", "mask_epochs", "mask_budget", "mask_learning_rate", "mask_weights")

    def stages(self) -> list[Step]:
        return [*super().stages(), ("importance", self.importance)]

    def importance(self) -> None:
        """The Fisher information of heads and units, which scores begin by."""
        with scored_batches(self.bench, "scoring heads and units", SCORED) as batches:
            heads, units = summed_diagonal(self.bench.supernet, batches)
        with whole(self.bench.networks / IMPORTANCE) as draft:
            save_file({HEADS: heads, UNITS: units}, draft)

    def candidates(self) -> list[Architecture]:
        """The masks of each share, the largest first. They are learnt here: what latency costs is known only now."""
        budget, file = self.budget(), self.bench.networks / FOUND
        found = _read(file)
        if len(found) < len(budget.descent.shares):
            found = self._learnt(budget, file)
        return [Architecture.from_dict(one) for one in found if one is not None]

    def budget(self) -> Budget:
        """Raises ConfigurationError where a size affords no head and no unit."""
        supernet, c = self.bench.supernet, self.bench.c
        body = supernet.body_parameters(supernet.whole)
        levels = sorted(dict.fromkeys(c.levels()), key=lambda level: -level.resolve(body))
        if {"latency", "macs"} & {Objective.parse(text).name for text in c.objectives}:
            prices = by_speed(self.bench)
            whole = prices.whole(supernet.shape)
            budgets = [level.resolve(body) / body * whole for level in levels]
        else:
            (prices, _), *_ = several = within_sizes(supernet, levels)
            whole, budgets = prices.whole(supernet.shape), [budget for _, budget in several]
        for level, budget in zip(levels, budgets, strict=True):
            _check(level, budget, prices)
        return Budget(prices, whole, Descent([budget / whole for budget in budgets], self._steps()))

    def _steps(self) -> int:
        settings: TrainingSettings = self.bench.c.mask_training()
        return settings.total_steps(-(-len(self.bench.data.train) // settings.batch_size))

    def _learnt(self, budget: Budget, file: Path) -> list[dict[str, Any] | None]:
        bench = self.bench
        supernet = Supernet(copy.deepcopy(bench.supernet.model))  # the unpruned network teaches, here and later
        importance = load_file(bench.networks / IMPORTANCE)
        scores = Scores(supernet.shape, importance[HEADS], importance[UNITS])
        found = _read(file)

        def keep(place: int, switches: Switches) -> None:
            masks = switches.masks()
            del found[place:]  # told again where a run went on from an earlier checkpoint
            if any(mask.any() for mask in masks):
                architecture = masked(supernet.shape, masks)
                save_weights(supernet.extract(bench.space.plan(architecture)), bench.networks / TRIALS / architecture.key)
                found.append(architecture.as_dict())
            else:
                found.append(None)
            write_whole(json.dumps(found), file)

        c, folder = bench.c, bench.networks / SCRATCH / "masks"
        learning = Learning(c.mask_budget, c.mask_learning_rate, weights=c.mask_weights)
        teaching = taught_by(bench.supernet.model, bench.data, c.evaluation_batch)
        if "examples" in teaching:
            teaching["examples"] = teaching["examples"]()
        with bench.progress.bar("learning masks") as advance, advising("--learning-rate"):
            options: dict[str, Any] = {"device": bench.device, "progress": advance, "logs": bench.logs.of("masks")}
            rows = learn_masks(
                supernet, scores, budget, bench.data, c.mask_training(), folder, keep, learning=learning, **teaching, **options
            )
        bench.keep_curve("masks", rows)
        return found

    def estimators(self) -> list[Estimator]:
        bench = self.bench
        folder, size = bench.networks / TRIALS, bench.c.evaluation_batch
        return [OwnWeightsError(bench.supernet, bench.space, bench.data, folder, batch_size=size)]

    def passes(self) -> dict[str, float]:
        train = len(self.bench.data.train)
        read = self.bench.c.mask_training().examples_read(train)
        return {**super().passes(), "importance": 3.0 * min(SCORED, train), "search": 3.0 * read}

    def tidy(self) -> None:
        super().tidy()
        remove(self.bench.networks / IMPORTANCE)


def _check(level: Bound, budget: float, prices: Prices) -> None:
    least = min(prices.head + prices.attention, prices.unit + prices.feed_forward)
    if budget < least:
        raise ConfigurationError(f"`polish_at={level}` affords no head and no unit: the smallest network costs more.")


def _read(file: Path) -> list[dict[str, Any] | None]:
    try:
        found: list[dict[str, Any] | None] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found
