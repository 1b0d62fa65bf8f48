"""Two Ray workers beside one, on standard NAS of a toy model; and what a trial costs beside its evaluation.

Each trial is a sub-network of a small BERT that is cut out and fine-tuned alone, with one thread a worker. The cluster is this
machine; one worker and two have turns, each with its workers started and their estimators made before the clock begins.
Wall-clock time: on a machine that does other work as well, a share of it is the others'. Targets: two workers do at least 1.7
times the trials of one; store, searcher and Ray take at most 20 ms a trial that costs nothing.
"""

from __future__ import annotations

import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from measuring import Report, arguments

from secateur.architecture import Architecture
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.cost import Cost
from secateur.estimators.fine_tuned import FineTuned
from secateur.estimators.together import Together
from secateur.objectives import Objective
from secateur.search.random import Random
from secateur.spaces.pruning import Shape, Small
from secateur.study import Ray, Recipe, RunLog, Stop, Study, create_store
from secateur.study.executors.ray_cluster import RayCluster
from secateur.supernet import Supernet
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data
from secateur.training.settings import TrainingSettings
from secateur.trial import Trial

ALLOWED_TRIAL = 0.020
OBJECTIVES = (Objective.parse("error"), Objective.parse("parameters"))


class Who(Estimator):
    """The process that evaluates."""

    yields = ("worker",)
    cost: ClassVar[int] = 0
    fingerprint = "who"

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        return [Evaluation({"worker": float(os.getpid())}) for _ in architectures]


def standard_nas(folder: str, examples: int, epochs: float) -> Together:
    """The recipe of a worker: candidates are cut from the network and fine-tuned in `folder`."""
    data = toy_task_data(examples=examples, seed=0)
    source = Supernet(toy_model("bert", layers=4))
    space = Small(source.shape)
    settings = TrainingSettings(epochs=epochs, learning_rate=1e-3, checkpoints=0)
    trained = FineTuned(
        lambda a: source.extract(space.plan(a)), data, settings, Path(folder) / str(os.getpid()), identity="toy"
    )
    return Together([Who(), Cost(source, space, length=12), trained], OBJECTIVES)


def free() -> Together:
    """The recipe of a worker whose trials cost nothing: counts alone."""
    source = Supernet(toy_model("bert", layers=4))
    return Together([Who(), Cost(source, Small(source.shape), length=12)], OBJECTIVES[1:])


def seconds(recipe: Recipe, workers: int, trials: int, objectives: tuple[Objective, ...], seed: int) -> list[float]:
    """Seconds between the ends of `trials` trials, once every worker has ended one: start-up is over by then."""
    shape = Supernet(toy_model("bert", layers=4)).shape
    ends: list[tuple[float, float]] = []

    def note(trial: Trial) -> None:
        ends.append((time.perf_counter(), trial.values.get("worker", 0.0)))

    searcher = Random(Small(Shape(shape.layers, shape.heads, shape.units)), objectives, seed=seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        create_store(Path(folder) / "study.db") as store,
        RunLog(Path(folder) / "log.jsonl") as log,
        Ray(recipe, workers, note=log.write) as executor,
    ):
        options: dict[str, Any] = {"executor": executor, "log": log, "on_trial": note}
        study = Study(store, searcher, [], objectives, **options)
        while len({worker for _, worker in ends}) < workers:
            study.run(Stop(trials=len(ends) + workers))
        before, began = len(ends), time.perf_counter()
        study.run(Stop(trials=before + trials))
    return [b - a for a, b in itertools.pairwise([began, *(end for end, _ in ends[before:])])]


def main() -> None:
    given = arguments(__doc__ or "")
    os.environ["OMP_NUM_THREADS"] = "1"
    repeats, trials, examples, calls = (1, 2, 8, 5) if given.quick else (2, 16, 60, 150)
    report = Report(given.quick)
    cluster = RayCluster(workers=2)
    ratios, alone = [], []
    for turn in range(repeats):
        taken = {}
        for workers in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                recipe = Recipe("ray_workers:standard_nas", {"folder": folder, "examples": examples, "epochs": 2.0})
                taken[workers] = sum(seconds(recipe, workers, trials, OBJECTIVES, given.seed + turn))
        ratios.append(taken[1] / taken[2])
        alone.append(taken[1] / trials)
    report.add(
        "trials of standard NAS a second, two Ray workers ÷ one",
        statistics.median(ratios),
        1.7,
        at_least=True,
        lowest=min(ratios),
        highest=max(ratios),
        seconds_a_trial=statistics.median(alone),
        trials=trials,
        repeats=repeats,
    )
    times = seconds(Recipe("ray_workers:free"), 1, calls, OBJECTIVES[1:], given.seed)
    report.add(
        "store, searcher and Ray per trial ÷ 20 ms",
        statistics.mean(times) / ALLOWED_TRIAL,
        1.0,
        milliseconds=statistics.mean(times) * 1e3,
        median_milliseconds=statistics.median(times) * 1e3,
        highest_milliseconds=max(times) * 1e3,
        trials=len(times),
    )
    cluster.leave()
    report.end()


if __name__ == "__main__":
    main()
