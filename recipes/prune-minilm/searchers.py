"""Which searcher finds the front of a trained super-network fastest: a table of all errors, then every searcher on the table.

    secateur demo --to runs/demo
    python searchers.py runs/demo

The space is `small` with units in steps of 128. Every width is scored at every depth on 256 validation sentences. Prints, per
searcher and number of trials, the hypervolume reached as a share of the best possible one: mean and standard error over seeds.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np

SETTINGS: dict[str, dict[str, int]] = {
    "random": {},
    "local": {},
    "mo-rea": {"population": 20, "sample": 5},
    "nsga2": {"population": 15},
    "ehvi": {},
}
REFERENCE = np.array([0.55, 1.05])  # error of a constant answer, and the whole body, both with a margin

Table = dict[str, tuple[float, float]]


def all_errors(folder: str) -> tuple[Any, Table]:
    """Key → (error, share of the body) of every architecture."""
    from secateur.estimators.cost import Cost
    from secateur.estimators.shared_weights import SharedWeightsError
    from secateur.runs.prune.run import PruneRun
    from secateur.spaces.pruning import Small
    from secateur.tasks import load_task

    run = PruneRun(folder)
    c = run.configuration
    data = load_task(
        c.data, run.tokenizer, text=c.text, label=c.label, seed=c.seed, max_length=c.max_length, max_train=c.max_train,
        max_validation=256, max_test=16,
    )  # fmt: skip
    space = Small(run.supernet.shape, units=":128")
    errors, cost = SharedWeightsError(run.supernet, space, data), Cost(run.supernet, space)
    whole = run.supernet.body_parameters(run.supernet.whole)
    table: Table = {}
    for heads, units in itertools.product(range(space.shape.heads + 1), range(0, space.shape.units + 1, 128)):
        deepest = space.make({"heads": heads, "units": units, "layers": space.shape.layers})
        found = errors.evaluate([deepest])[0]
        for architecture, values in [(deepest, found.values), *found.extra]:
            size = cost.evaluate([architecture])[0].values["body_parameters"] / whole
            table[architecture.key] = (values["error"], size)
    return space, table


def reached(space: Any, table: Table, name: str, seed: int, trials: int, sweep: bool) -> float:
    """The hypervolume of one search."""
    from secateur.catalogue import find
    from secateur.objectives import Objective
    from secateur.pareto import hypervolume
    from secateur.trial import Trial

    objectives = [Objective("error"), Objective("body_parameters")]
    searcher = find("searcher", name)(space, objectives, seed=seed, take_extra=sweep, **SETTINGS[name])
    points = []

    def tell(number: int | None, architecture: Any, origin: str) -> None:
        point = table[architecture.key]
        points.append(point)
        values = dict(zip(("error", "body_parameters"), point, strict=True))
        searcher.tell(Trial(number, architecture, values=values, origin=origin))

    for _ in range(trials):
        for asked in searcher.ask(1):
            tell(asked.id, asked.architecture, "asked")
            for shallower in space.depths(asked.architecture) if sweep else []:
                if (shallower.key, None) not in searcher.seen:
                    tell(None, shallower, "sweep")
    return hypervolume(np.array(points), REFERENCE)


def main() -> None:
    from secateur.pareto import hypervolume

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    space, table = all_errors(args.run)
    best = hypervolume(np.array(list(table.values())), REFERENCE)
    for sweep, name, trials in itertools.product((True, False), SETTINGS, (30, 60, 100)):
        found = [reached(space, table, name, seed, trials, sweep) / best for seed in range(args.seeds)]
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        print(f"{'with' if sweep else 'no'} sweep  {name:8} {trials:4} trials  {np.mean(found):.3f} ± {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
