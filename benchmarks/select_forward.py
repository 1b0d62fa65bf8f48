"""A selected sub-network's forward pass ÷ the extracted network's, for random sub-networks of `small` and `medium`.

Entering and leaving `select` is timed with each pass: what a training step pays. Target: a mean of at most 1.10 over 20 random
sub-networks of `small`, 1.15 of `medium`.
"""

from __future__ import annotations

import statistics
from typing import Any

import torch
from measuring import FULL, QUICK, Report, arguments, by_turns, network, spread_of, standard_error, tokens

from secateur.rng import generator
from secateur.spaces.pruning import Medium, Plan, Small
from secateur.supernet import Supernet

TARGETS = {"small": 1.10, "medium": 1.15}


def compare(supernet: Supernet, plan: Plan, batch: dict[str, Any], repeats: int) -> tuple[float, float]:
    """Median seconds of the selected and of the extracted network."""
    extracted = supernet.extract(plan)

    def select() -> Any:
        with supernet.select(plan) as model:
            return model(**batch).logits

    with torch.inference_mode():
        assert torch.allclose(select(), extracted(**batch).logits, atol=1e-5), "select and extract differ"
        first, second = by_turns([select, lambda: extracted(**batch)], repeats)
    return statistics.median(first), statistics.median(second)


def main() -> None:
    given = arguments(__doc__ or "")
    size = QUICK if given.quick else FULL
    networks, repeats = (3, 2) if given.quick else (20, 7)
    supernet = network(size, given.seed)
    batch = {name: value for name, value in tokens(size, given.seed).items() if name != "labels"}
    report = Report(given.quick)
    for space in (Small(supernet.shape), Medium(supernet.shape)):
        ratios, selected, extracted = [], 0.0, 0.0
        for architecture in space.sample_many(networks, generator(given.seed, space.name)):
            first, second = compare(supernet, space.plan(architecture), batch, repeats)
            ratios.append(first / second)
            selected, extracted = selected + first, extracted + second
            print(
                f"{space.name}: {first / second:.3f}  ({second * 1e3:7.1f} ms extracted)  {dict(architecture.choices)}",
                flush=True,
            )
        low, high = spread_of(ratios)
        report.add(
            f"`select` forward ÷ the extracted network's, `{space.name}`",
            statistics.mean(ratios),
            TARGETS[space.name],
            standard_error=standard_error(ratios),
            lowest=low,
            highest=high,
            ratio_of_sums=selected / extracted,
            networks=networks,
            repeats=repeats,
        )
    report.end()


if __name__ == "__main__":
    main()
