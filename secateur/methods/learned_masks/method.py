"""Learned masks as a method: one training on the way down through all sizes, each kept with the weights that it has there."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from safetensors.numpy import load_file, save_file

from secateur.anatomy.base import HEADS, UNITS
from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.own_weights import OwnWeightsError, save_weights
from secateur.methods.base import TRIALS, Step
from secateur.methods.fine_tuned_first import SCRATCH, FineTunedFirst, advising
from secateur.methods.fisher.information import summed_diagonal
from secateur.methods.fisher.sizes import masked
from secateur.methods.learned_masks.scores import Scores, Switches
from secateur.methods.learned_masks.spending import Descent
from secateur.methods.learned_masks.training import TRAVEL, Budget, Learning, learn_masks
from secateur.methods.ordering import scored_batches
from secateur.methods.prices import Prices, by_latency, by_operations, within_sizes
from secateur.objectives import Bound, Objective
from secateur.supernet import Supernet
from secateur.training.settings import TrainingSettings
from secateur.training.teacher import taught_by
from secateur.writing import remove, whole, write_whole

#: The importance that scores begin by; and what was kept at each share: architectures, in the order of the shares.
IMPORTANCE, FOUND = "mask-importance.safetensors", "learned-masks.json"


class LearnedMasks(FineTunedFirst):
    """The fine-tuned network learns under masks, with itself, as it was, as teacher. Sizes are those that will be polished:
    shares of the parameters in the layers, and of latency or operations as well where these are objectives."""

    spaces = ("large",)
    lists = True
    own = True
    uses: ClassVar[tuple[str, ...]] = ("learning_rate", "mask_epochs", "mask_budget", "mask_learning_rate", "mask_weights")

    def stages(self) -> list[Step]:
        self._within_sizes()  # what is too small is said now, not after hours
        return [*super().stages(), ("importance", self.importance)]

    def last_stages(self) -> list[Step]:
        return [("learn-masks", self.learn)]

    def importance(self) -> None:
        """The Fisher information of heads and units, which scores begin by."""
        with scored_batches(self.bench, "scoring heads and units", self.bench.c.importance_examples) as batches:
            heads, units = summed_diagonal(self.bench.supernet, batches)
        with whole(self.bench.networks / IMPORTANCE) as draft:
            save_file({HEADS: heads, UNITS: units}, draft)

    def candidates(self) -> list[Architecture]:
        """The masks of each size, the largest first. Raises ConfigurationError where all objectives together leave nothing."""
        file, levels = self.bench.networks / FOUND, self._levels()
        kept = _read(file)
        if len(kept) != len(levels):
            raise StudyError(f"`{file}` is lost or damaged: it must have an entry for each size. Begin a new run.")
        found = [Architecture.from_dict(one) for one in kept if one is not None]
        lost = [str(level) for level, one in zip(levels, kept, strict=True) if one is None]
        if not found:
            raise ConfigurationError(
                f"`polish_at={', '.join(lost)}` affords no head and no unit within all objectives. Name larger sizes."
            )
        if lost:
            self.bench.note(f"no network of {', '.join(lost)}: no head and no unit fits within all objectives.")
        return found

    def _levels(self) -> list[Bound]:
        """The sizes, the largest first."""
        supernet = self.bench.supernet
        body = supernet.body_parameters(supernet.whole)
        return sorted(dict.fromkeys(self.bench.c.levels()), key=lambda level: -level.resolve(body))

    def _within_sizes(self) -> Budget:
        """Parameters. Raises ConfigurationError where there is no size, or one affords no head and no unit."""
        supernet, levels = self.bench.supernet, self._levels()
        if not levels:
            raise ConfigurationError(
                "`polish_at` must name sizes: the method `learned-masks` goes down through them, got none."
            )
        several = within_sizes(supernet, levels)
        prices = several[0][0]
        least = min(prices.head + prices.attention, prices.unit + prices.feed_forward)
        for level, (_, budget) in zip(levels, several, strict=True):
            if budget < least:
                raise ConfigurationError(f"`polish_at={level}` affords no head and no unit: the smallest network is larger.")
        return self._budget(prices, [budget for _, budget in several])

    def _budget(self, prices: Prices, budgets: Sequence[float]) -> Budget:
        cost = prices.whole(self.bench.supernet.shape)
        return Budget(prices, cost, Descent([budget / cost for budget in budgets], self._steps()))

    def constraints(self) -> list[Budget]:
        """Parameters; and the same shares of what the layers take of latency and operations, where these are objectives."""
        bench, found = self.bench, [self._within_sizes()]
        asked = {Objective.parse(text).name for text in bench.c.objectives}
        body = bench.supernet.body_parameters(bench.supernet.whole)
        for name, priced in (("latency", by_latency), ("macs", by_operations)):
            if name in asked and (prices := priced(bench)) is not None:
                cost = prices.whole(bench.supernet.shape)
                found.append(self._budget(prices, [level.resolve(body) / body * cost for level in self._levels()]))
        return found

    def _steps(self) -> int:
        settings: TrainingSettings = self.bench.c.mask_training()
        return settings.total_steps(-(-len(self.bench.data.train) // settings.batch_size))

    def learn(self) -> None:
        """Train masks and weights through all sizes, and keep what is cut out on the way."""
        bench = self.bench
        supernet = Supernet(copy.deepcopy(bench.supernet.model))  # the unpruned network teaches, here and later
        importance = load_file(bench.networks / IMPORTANCE)
        scores = Scores(supernet.shape, importance[HEADS], importance[UNITS])
        file = bench.networks / FOUND
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
        learning = Learning(c.mask_learning_rate or TRAVEL / self._steps(), c.mask_budget, weights=c.mask_weights)
        teaching = taught_by(bench.supernet.model, bench.data, c.evaluation_batch)
        if "examples" in teaching:
            teaching["examples"] = teaching["examples"]()
        with bench.progress.bar("learning masks") as advance, advising("--learning-rate"):
            options: dict[str, Any] = {"device": bench.device, "progress": advance, "logs": bench.logs.of("masks")}
            rows = learn_masks(
                supernet,
                scores,
                self.constraints(),
                bench.data,
                c.mask_training(),
                folder,
                keep,
                learning=learning,
                **teaching,
                **options,
            )
        bench.keep_curve("masks", rows)

    def estimators(self) -> list[Estimator]:
        bench = self.bench
        folder, size = bench.networks / TRIALS, bench.c.evaluation_batch
        return [OwnWeightsError(bench.supernet, bench.space, bench.data, folder, batch_size=size)]

    def passes(self) -> dict[str, float]:
        train = len(self.bench.data.train)
        read = self.bench.c.mask_training().examples_read(train)
        return {**super().passes(), "importance": 3.0 * min(self.bench.c.importance_examples, train), "learn-masks": 3.0 * read}

    def tidy(self) -> None:
        super().tidy()
        remove(self.bench.networks / IMPORTANCE)


def _read(file: Path) -> list[dict[str, Any] | None]:
    try:
        found: list[dict[str, Any] | None] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found
