"""A search by latency against a search by parameters: what the predictions of the latency model add, its fit apart.

python benchmarks/latency_search.py [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import time

from measuring import Report, arguments, seconds, spread_of
from search_100 import real, toy, train

from secateur.devices.setup import Setup
from secateur.estimators.base import Estimator
from secateur.estimators.cost import Cost
from secateur.estimators.latency_model import LatencyModel, PredictedLatency
from secateur.estimators.latency_sample import Fitting
from secateur.estimators.pruned_latency import PrunedParts
from secateur.estimators.shared_weights import SharedWeightsError
from secateur.objectives import Objective
from secateur.search.base import Searcher
from secateur.search.local import LocalSearch
from secateur.search.random import Random
from secateur.spaces.pruning import Small, plan_of
from secateur.study import Stop, Study
from secateur.study.memory_store import MemoryStore


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trials", type=int, default=100, help="architectures that a search may try")
    parser.add_argument("--sentences", type=int, default=256, help="validation examples")
    parser.add_argument("--seeds", type=int, default=3, help="searches of each kind, with seeds of their own")


def main() -> None:
    given = arguments(__doc__ or "", options)
    if given.quick:
        given.trials, given.seeds = 3, 1
    supernet, data = toy(given.seed) if given.quick else real(None, given.sentences, given.seed)
    train(supernet, data)
    space, setup = Small(supernet.shape), Setup(length=8 if given.quick else 128)
    fitting = Fitting(networks=24, held_out=8, seconds=1.0 if given.quick else 45.0)
    began = time.perf_counter()
    model = LatencyModel.fit(
        lambda a: supernet.extract(plan_of(a, supernet.shape)), PrunedParts(supernet.shape), setup, fitting
    )
    fit_seconds = time.perf_counter() - began
    print(model.report, flush=True)

    error = SharedWeightsError(supernet, space, data, batch_size=32)
    counted: list[Estimator] = [Cost(supernet, space, length=setup.length), error]
    error.evaluate([space.largest()])  # warm-up

    def search(kind: type[Searcher], cost: str, seed: int) -> float:
        """Processor seconds of a search by error and this cost."""
        estimators = [*counted, PredictedLatency(model)] if cost == "latency" else counted
        objectives = [Objective("error"), Objective(cost)]
        searcher = kind(space, objectives, seed=seed, take_extra=True)
        study = Study(MemoryStore(), searcher, estimators, objectives, {})
        return seconds(lambda: study.run(Stop(trials=given.trials)))

    report = Report(given.quick)
    for name, kind in (("random", Random), ("local", LocalSearch)):
        pairs = [(search(kind, "body_parameters", seed), search(kind, "latency", seed)) for seed in range(given.seeds)]
        ratios = [by_latency / by_parameters for by_parameters, by_latency in pairs]
        low, high = spread_of(ratios)
        report.add(
            f"search of {given.trials} trials by latency ÷ by parameters, {name}",
            statistics.mean(ratios),
            1.2,
            lowest=low,
            highest=high,
            seconds=statistics.mean(by_latency for _, by_latency in pairs),
            fit_seconds=fit_seconds,
            seeds=given.seeds,
        )
    report.end()


if __name__ == "__main__":
    main()
