"""What a study costs beside its evaluations: store and searcher, per trial, with an estimator that costs nothing.

Wall-clock time, since a store waits for the disk: SQLite in a file, the log beside it, as a run has them. Target: at most 10 ms
a trial for `random` and `local` over 200 trials. In memory, what a study takes beyond the searcher and the estimator alone, as
processor time of the one thread, by turns: at most 0.2 ms a trial; on a table, with what looking it up takes. Beside them, a
suggestion of `ehvi` at 100 observations in `small`: at most 2 s. A ratio is the time ÷ the time allowed.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from free import Free
from measuring import FULL, Report, arguments

from secateur.architecture import Architecture
from secateur.estimators.base import Estimator
from secateur.objectives import Objective
from secateur.search.base import Searcher
from secateur.search.ehvi import Ehvi
from secateur.search.local import LocalSearch
from secateur.search.random import Random
from secateur.spaces.base import Space
from secateur.spaces.pruning import Shape, Small
from secateur.study.log import RunLog
from secateur.study.loop import Stop, Study
from secateur.study.opening import create_store
from secateur.tables import TableEstimator
from secateur.tables.opening import open_table
from secateur.testing.toys import Toy

ALLOWED_TRIAL = 0.010
ALLOWED_SUGGESTION = 2.0
ALLOWED_IN_MEMORY = 0.0002

#: An architecture's values.
Answer = Callable[[Architecture], Mapping[str, float]]


def trials(searcher: Searcher, toy: Toy, folder: Path, count: int) -> list[float]:
    """Seconds from the end of each trial to the end of the next."""
    ends = []
    with create_store(folder / "study.db") as store:
        study = Study(
            store,
            searcher,
            [Free(toy)],
            toy.objectives,
            {},
            log=RunLog(folder / "log.jsonl"),
            on_trial=lambda trial: ends.append(time.perf_counter()),
        )
        start = time.perf_counter()
        study.run(Stop(trials=count))
    times = [start, *ends]
    return [b - a for a, b in itertools.pairwise(times)]


def in_memory(
    space: Space, objectives: Sequence[Objective], estimator: Estimator, answer: Answer, count: int, seed: int
) -> float:
    """Processor seconds of a trial beyond those of its searcher and of `answer`, with a store in memory."""

    def alone() -> None:
        searcher = Random(space, objectives, seed=seed)
        for _ in range(count):
            (trial,) = searcher.ask()
            searcher.tell(replace(trial, status="complete", values=answer(trial.architecture)))

    def study() -> None:
        Study(create_store("memory://"), Random(space, objectives, seed=seed), [estimator], objectives).run(Stop(trials=count))

    beyond = []
    for _ in range(5):
        times = []
        for way in (alone, study):
            start = time.thread_time()
            way()
            times.append(time.thread_time() - start)
        beyond.append((times[1] - times[0]) / count)
    return statistics.median(beyond)


def on_a_table(count: int, seed: int) -> float:
    """Processor seconds of a trial on a table beyond those of its searcher."""
    table = open_table("prune-sst2")
    known = {key: table.table.values(key, names=table.objectives) for key in table.table.keys}
    objectives = [table.objective(name) for name in table.objectives]
    estimator = TableEstimator(table.table, table.objectives)
    return in_memory(table.space, objectives, estimator, lambda a: known[a.key], count, seed)


def suggestions(toy: Toy, observations: int, count: int, seed: int) -> tuple[list[float], list[float]]:
    """Wall-clock and processor seconds of each of `count` suggestions, the first at `observations` results."""
    searcher = Ehvi(toy.space, toy.objectives, seed=seed)
    random = Random(toy.space, toy.objectives, seed=seed)
    for proposal in random.ask(observations):
        searcher.tell(toy.result(proposal.architecture))
    wall, processor = [], []
    for _ in range(count):
        start = time.perf_counter(), time.thread_time()
        (proposal,) = searcher.ask()
        wall.append(time.perf_counter() - start[0])
        processor.append(time.thread_time() - start[1])
        searcher.tell(toy.result(proposal.architecture, proposal.id))
    return wall, processor


def main() -> None:
    given = arguments(__doc__ or "")
    count, observations, asked = (20, 12, 2) if given.quick else (200, 100, 9)
    toy = Toy.of(Small(Shape(FULL.layers, FULL.heads, FULL.units)))
    report = Report(given.quick)
    for kind in (Random, LocalSearch):
        with tempfile.TemporaryDirectory() as folder:
            times = trials(kind(toy.space, toy.objectives, seed=given.seed), toy, Path(folder), count)
        report.add(
            f"store and searcher per trial ÷ 10 ms, `{kind.name}`",
            statistics.mean(times) / ALLOWED_TRIAL,
            1.0,
            milliseconds=statistics.mean(times) * 1e3,
            median_milliseconds=statistics.median(times) * 1e3,
            highest_milliseconds=max(times) * 1e3,
            trials=len(times),
        )
    free = Free(toy)
    beyond = in_memory(toy.space, toy.objectives, free, lambda a: free.evaluate([a])[0].values, 5 * count, given.seed)
    report.add("a trial in memory beyond its searcher ÷ 0.2 ms", beyond / ALLOWED_IN_MEMORY, 1.0, milliseconds=beyond * 1e3)
    beyond = on_a_table(2 * count, given.seed)
    report.add("a trial on a table beyond its searcher ÷ 0.2 ms", beyond / ALLOWED_IN_MEMORY, 1.0, milliseconds=beyond * 1e3)
    wall, processor = suggestions(toy, observations, asked, given.seed)
    for name, value in (("first", wall[0]), ("median", statistics.median(wall))):
        report.add(
            f"`ehvi` suggestion at {observations} observations ÷ 2 s, {name}",
            value / ALLOWED_SUGGESTION,
            1.0,
            seconds=value,
            processor_seconds=processor[0] if name == "first" else statistics.median(processor),
            lowest=min(wall) / ALLOWED_SUGGESTION,
            highest=max(wall) / ALLOWED_SUGGESTION,
            suggestions=1 if name == "first" else asked,
        )
    report.end()


if __name__ == "__main__":
    main()
