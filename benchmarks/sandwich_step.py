"""A sandwich training step ÷ a standard one: forward and backward passes of the trainer's own step, without the optimiser.

Target: a mean of at most 1.7 over 20 draws. By arithmetic it is 1.5: two random sub-networks of `small` cost a quarter of the
network each on average, up to where the draws fall (printed as the expected ratio of multiply-accumulate operations). The same
draws with masks stand beside it, over fewer draws: a masked pass costs what the whole network costs, whatever is drawn.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import FULL, QUICK, Report, Size, arguments, network, seconds, spread_of, standard_error, tokens

from secateur.rng import generator
from secateur.spaces.pruning import Plan, Small
from secateur.supernet import Supernet
from secateur.testing.masks import masked
from secateur.training.settings import TrainingSettings
from secateur.training.stage_trainer import training_arguments
from secateur.training.strategies import Sandwich, Standard, Strategy
from secateur.training.trainer import SupernetTrainer


class MaskedSupernet(Supernet):
    """A supernet whose sub-networks are masked, not sliced."""

    @contextlib.contextmanager
    def select(self, plan: Plan) -> Iterator[Any]:
        with masked(self, plan) as model:
            yield model


def trainer_of(supernet: Supernet, strategy: Strategy, size: Size, steps: int, seed: int, folder: Path) -> SupernetTrainer:
    """A trainer in mid-run, ready for `training_step`."""
    settings = TrainingSettings(epochs=steps, batch_size=size.batch, seed=seed, checkpoints=0)
    trainer = SupernetTrainer(
        supernet, strategy, settings=settings, args=training_arguments(settings, folder, size.batch, "cpu"), train_dataset=None
    )
    trainer.state.max_steps = steps
    trainer.current_gradient_accumulation_steps = 1
    return trainer


def main() -> None:
    given = arguments(__doc__ or "")
    size = QUICK if given.quick else FULL
    draws, draws_masked = (3, 2) if given.quick else (20, 4)
    supernet = network(size, given.seed)
    space = Small(supernet.shape)
    batch = tokens(size, given.seed)
    kinds = {
        "standard": (supernet, Standard(space)),
        "sandwich": (supernet, Sandwich(space, k=2)),
        "masks": (MaskedSupernet(supernet.model), Sandwich(space, k=2)),
    }
    with tempfile.TemporaryDirectory() as folder:
        trainers = {
            name: trainer_of(net, strategy, size, draws + 1, given.seed, Path(folder))
            for name, (net, strategy) in kinds.items()
        }
        times: dict[str, list[float]] = {name: [] for name in kinds}
        expected = []
        whole = supernet.macs(supernet.whole, size.batch, size.length)
        for draw in range(draws + 1):
            plans = [d.plan for d in trainers["sandwich"].strategy.draws(draw, draws + 1, generator(given.seed, "train", draw))]
            for name, trainer in trainers.items():
                if name == "masks" and draw > draws_masked:
                    continue
                trainer.state.global_step = draw
                taken = seconds(lambda trainer=trainer: trainer.training_step(trainer.model, dict(batch)))  # type: ignore[misc]
                supernet.model.zero_grad(set_to_none=True)
                if draw:  # the first is warm-up
                    times[name].append(taken)
            if draw:
                arithmetic = sum(supernet.macs(p or supernet.whole, size.batch, size.length) for p in plans) / whole
                expected.append(arithmetic)
                ratio = times["sandwich"][-1] / times["standard"][-1]
                print(f"draw {draw}: {ratio:.3f}, by arithmetic {arithmetic:.3f}", flush=True)
    standard = statistics.median(times["standard"])
    report = Report(given.quick)
    for name, label, target in (("sandwich", "slices", 1.7), ("masks", "masks", None)):
        ratios = [taken / standard for taken in times[name]]
        low, high = spread_of(ratios)
        report.add(
            f"sandwich step ÷ standard step, {label}",
            statistics.mean(ratios),
            target,
            standard_error=standard_error(ratios),
            lowest=low,
            highest=high,
            **({"by_arithmetic": statistics.mean(expected)} if name == "sandwich" else {}),
            draws=len(ratios),
            standard_spread=(max(times["standard"]) - min(times["standard"])) / standard,
        )
    report.end()


if __name__ == "__main__":
    main()
