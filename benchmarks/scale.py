"""What 1,000 workers are limited by: a simulation of trials that arrive at one driver, with what its parts cost measured here.

The driver does one thing at a time: it takes an outcome, stores it, tells the searcher, asks it for the next trial, stores that
and hands it out. Workers evaluate for as long as a trial takes. That is a closed queue: `workers` customers, one server whose
service is the driver's time per trial, and a delay. The simulation draws trial times from a log-normal distribution (deviation
half of the mean) and tells trials a second and how busy the workers are; bounds on paper stand beside it: at most workers ÷
(trial + service) and at most 1 ÷ service trials a second. Parts are timed as processor time of the one thread, the store by the
clock. The one target: where trials take a minute, 1,000 workers are busy at least 95 % of the time.
"""

from __future__ import annotations

import argparse
import heapq
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import FULL, Report, arguments

from secateur.rng import generator
from secateur.search.base import Searcher
from secateur.search.ehvi import Ehvi
from secateur.search.local import LocalSearch
from secateur.search.random import Random
from secateur.spaces.pruning import Shape, Small
from secateur.study.opening import create_store
from secateur.testing.toys import Toy

#: How long trials take, in seconds: trained for a minute, on shared weights, counted.
TRIALS = (60.0, 10.0, 1.0, 0.1)


def simulate(workers: int, trial: float, service: float, trials: int, seed: int) -> tuple[float, float]:
    """Trials a second, and the share of the time that workers are busy, once all have begun."""
    rng = generator(seed, "arrivals")
    sigma = math.sqrt(math.log(1 + 0.25))
    lasts = rng.lognormal(math.log(trial) - sigma**2 / 2, sigma, size=trials + workers) if trial else [0.0] * (trials + workers)
    free, ends, busy = 0.0, [], 0.0
    for number in range(workers):  # the driver hands out the first trials one after the other
        free += service
        heapq.heappush(ends, free + float(lasts[number]))
    began = free
    for number in range(workers, workers + trials):
        free = max(free, heapq.heappop(ends)) + service  # it takes the next that ended, when it has time
        heapq.heappush(ends, free + float(lasts[number]))
        busy += float(lasts[number])
    return trials / (free - began), min(1.0, busy / ((free - began) * workers))


def bound(workers: int, trial: float, service: float) -> float:
    """The most trials a second, on paper."""
    return min(workers / (trial + service), 1 / service)


def searcher_seconds(make: Callable[[], Searcher], toy: Toy, told: int, count: int) -> float:
    """Processor seconds of an ask and a tell, at `told` results."""
    searcher, random = make(), Random(toy.space, toy.objectives, seed=7)
    for proposal in random.ask(told):
        searcher.tell(toy.result(proposal.architecture))
    times = []
    for _ in range(count):
        start = time.thread_time()
        (proposal,) = searcher.ask()
        searcher.tell(toy.result(proposal.architecture, proposal.id))
        times.append(time.thread_time() - start)
    return statistics.median(times)


def store_seconds(url: str | Path, toy: Toy, count: int) -> float:
    """Seconds, by the clock, that a store takes to begin a trial, to look up what is known of it, and to end it."""
    times = []
    with create_store(url) as store:
        for proposal in Random(toy.space, toy.objectives, seed=5).ask(count):
            ended = toy.result(proposal.architecture, proposal.id)
            start = time.perf_counter()
            begun = store.begin(proposal)
            store.known(begun.key)
            store.finish(_ended(begun, ended))
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def _ended(begun: Any, result: Any) -> Any:
    from dataclasses import replace

    return replace(begun, status="complete", values=dict(result.values), seconds=1.0)


def ray_seconds(workers: int, count: int) -> float:
    """Processor seconds of the driver to hand a task to a Ray worker and to take what came of it, among `workers` that run."""
    from secateur.study.executors.ray_cluster import RayCluster

    cluster = RayCluster(workers=2)
    ray = cluster.ray
    try:
        idle = ray.remote(_Echo)
        answering, waiting = idle.remote(), idle.remote()
        ray.get([answering.say.remote(0), waiting.say.remote(0)])
        others = [waiting.say.remote(3600) for _ in range(workers - 1)]
        times = []
        for _ in range(count):
            start = time.thread_time()
            reference = answering.say.remote(0)
            ready, _ = ray.wait([*others, reference], num_returns=1)
            ray.get(ready[0])
            times.append(time.thread_time() - start)
        ray.kill(waiting)
        return statistics.median(times)
    finally:
        cluster.leave()


class _Echo:
    """A worker that sleeps for as long as it is told."""

    def say(self, seconds: float) -> float:
        time.sleep(seconds)
        return seconds


def main() -> None:
    given = arguments(__doc__ or "", _store)
    told, count, simulated = (12, 4, 500) if given.quick else (100, 30, 20_000)
    workers = 20 if given.quick else 1_000
    toy = Toy.of(Small(Shape(FULL.layers, FULL.heads, FULL.units)))
    report, beside = Report(given.quick), ", PostgreSQL" if given.store else ""
    space, objectives = toy.space, toy.objectives
    kinds: list[tuple[str, Callable[[], Searcher]]] = [
        ("random", lambda: Random(space, objectives, seed=given.seed)),
        ("local", lambda: LocalSearch(space, objectives, seed=given.seed)),
        ("ehvi", lambda: Ehvi(space, objectives, seed=given.seed)),
    ]
    if given.store:
        del kinds[1:]  # what searchers take is known without it
    asking = {name: searcher_seconds(make, toy, told, 2 if name == "ehvi" else count) for name, make in kinds}
    with tempfile.TemporaryDirectory() as folder:
        storing = store_seconds(given.store or Path(folder) / "study.db", toy, 10 * count)
    passing = ray_seconds(workers, count)
    for name, asked in asking.items():
        service = asked + storing + passing
        for trial in TRIALS:
            rate, busy = simulate(workers, trial, service, simulated, given.seed)
            judged = name == "random" and trial == 60.0
            report.add(
                f"{workers:,} workers busy, trials of {trial:g} s, `{name}`{beside}",
                busy,
                0.95 if judged else None,
                at_least=True,
                trials_a_second=rate,
                on_paper=bound(workers, trial, service),
                searcher_milliseconds=asked * 1e3,
                store_milliseconds=storing * 1e3,
                ray_milliseconds=passing * 1e3,
            )
    report.end()


def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", help="the URL of an empty database, to time it in the place of a file of SQLite")


if __name__ == "__main__":
    main()
