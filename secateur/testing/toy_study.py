"""A toy study: pure-Python estimators on `small` of a 2-layer network. Run as a script, it is a study to be killed."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import UnknownNameError
from secateur.estimators.base import Estimator, Evaluation
from secateur.estimators.together import Together
from secateur.objectives import Objective
from secateur.rng import Generator, generator
from secateur.search.base import Searcher
from secateur.spaces.pruning import Shape, Small
from secateur.study import Processes, Ray, Recipe, RunLock, RunLog, Stop, Store, Study, create_store, open_store
from secateur.trial import Status, Trial

SPACE = Small(Shape(layers=2, heads=4, units=8))
UNPRUNED = {"error": 0.1, "parameters": 1000.0, "body_parameters": 800.0}
OBJECTIVES = (Objective.parse("error"), Objective.parse("parameters"))


class Random(Searcher):
    name = "toy-random"

    def _propose(self, rng: Generator) -> Architecture | None:
        return self._unseen(lambda: SPACE.sample(rng))


class Learner(Random):
    """Its proposals depend on all that it was told and on the order: any slip in a resume changes what follows."""

    name = "toy-learner"

    def _propose(self, rng: Generator) -> Architecture | None:
        for result in self.history:
            rng = generator(int(rng.integers(2**31)), str(result.id), repr(sorted(result.values.items())))
        return super()._propose(rng)


class Decliner(Random):
    name = "toy-decliner"
    takes_extra = False


class Halving(Random):
    """Asynchronous successive halving: the best third of a rung goes on to the next one, at three times the budget."""

    name = "toy-halving"
    rungs = (1.0, 3.0, 9.0)

    def _next_trial(self, rng: Generator) -> Trial | None:
        aim = self.objectives[0].name
        for low, high in reversed(list(pairwise(self.rungs))):
            ended = [t for t in self.history if t.complete and t.budget == low and t.id is not None]
            for best in sorted(ended, key=lambda t: (t.values[aim], t.id))[: len(ended) // 3]:
                if (best.key, high) not in self.seen:
                    return Trial(self.asked, best.architecture, Status.RUNNING, budget=high, continues=best.id)
        architecture = self._propose(rng)
        return None if architecture is None else Trial(self.asked, architecture, Status.RUNNING, budget=self.rungs[0])

    def _is_new(self, architecture: Architecture, budget: float | None = None) -> bool:
        return (architecture.key, self.rungs[0]) not in self.seen


class Count(Estimator):
    """The cost: parameters, 0 to 1000."""

    yields = ("parameters", "body_parameters")
    cost = 0
    fingerprint = "count"

    def __init__(self) -> None:
        self.calls: list[str] = []

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        self.calls += [a.key for a in architectures]
        found = []
        for plan in map(SPACE.plan, architectures):
            body = float(sum(20 * p.heads.count + 40 * p.units.count for p in plan.layers))
            found.append(Evaluation({"parameters": 200 + body, "body_parameters": body}))
        return found


class Error(Estimator):
    """The error: smaller for larger networks, and every shallower depth for free. `before` runs before each evaluation."""

    yields = ("error",)
    cost = 1
    fingerprint = "error"

    def __init__(self, sweep: bool = True, before: Callable[[Architecture], Any] = lambda architecture: None) -> None:
        self.sweep = sweep
        self.before = before
        self.calls: list[str] = []

    @staticmethod
    def error(architecture: Architecture) -> float:
        plan = SPACE.plan(architecture)
        return 1 / (1 + sum(p.heads.count + 0.7 * p.units.count for p in plan.layers))

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        found = []
        for architecture in architectures:
            self.calls.append(architecture.key)
            result = self.before(architecture)
            if isinstance(result, Evaluation):
                found.append(result)
                continue
            extra = tuple((a, {"error": self.error(a)}) for a in SPACE.depths(architecture)) if self.sweep else ()
            found.append(
                Evaluation({"error": self.error(architecture)}, extra=extra, details={"batches": 3.0, "metric": "accuracy"})
            )
        return found


class Trained(Estimator):
    """Pretended training: the error after `budget` epochs, the way there, and ten simulated seconds an epoch."""

    yields = ("error",)
    cost = 3
    fingerprint = "trained"
    seconds = 10.0

    def evaluate(self, architectures: Sequence[Architecture], budget: float | None = None) -> list[Evaluation]:
        epochs = 9.0 if budget is None else budget
        found = []
        for a in architectures:
            curve = tuple((float(e), {"error": Error.error(a) ** (e / 9)}) for e in range(1, int(epochs) + 1))
            found.append(Evaluation(dict(curve[-1][1]), curve=curve, seconds=self.seconds * epochs))
        return found


def study(store: Store, searcher: type[Searcher] = Learner, error: Estimator | None = None, **options: Any) -> Study:
    objectives = options.pop("objectives", OBJECTIVES)
    estimators = [] if "executor" in options else [error or Error(), Count()]
    return Study(store, searcher(SPACE, objectives, seed=3), estimators, objectives, UNPRUNED, **options)


def story(store: Store, seconds: bool = False) -> list[tuple[Any, ...]]:
    """All that must not depend on interruptions: everything but the times, but for simulated `seconds`."""
    names = ["number", "id", "told", "architecture", "status", "values", "details", "reason", "origin", "budget", "continues"]
    names += ["curve", "seconds"] if seconds else ["curve"]
    return [tuple(getattr(trial, name) for name in names) for trial in store.trials()]


def read_log(path: Path) -> list[dict[str, Any]]:
    """The events of a log; a line that a kill has torn is left out."""
    events = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with suppress(ValueError):
            events.append(json.loads(line))
    return events


def told(results: Sequence[Trial]) -> list[tuple[Any, ...]]:
    return [(r.id, r.architecture.key, r.status, dict(r.values), r.origin) for r in results]


def together(
    folder: str = "", deaths: int = 0, refuse: bool = False, weights: np.ndarray | None = None, slow: float = 0.0
) -> Together:
    """The recipe of a worker.

    Of trials whose architecture has no layer left, the first `deaths` evaluations die by SIGKILL, counted by files in `folder`;
    with `refuse` they end in an error of the user's. `weights` are added to the error. Where it is `slow`, an evaluation
    takes so many seconds, and says when it begins.
    """

    def before(architecture: Architecture) -> Evaluation | None:
        if slow:
            print("evaluating", architecture.key, flush=True)
            time.sleep(slow)
        if SPACE.plan(architecture).layers:
            return None if weights is None else Evaluation({"error": Error.error(architecture) + float(weights.sum())})
        if refuse:
            raise UnknownNameError("metric", "acuracy", ["accuracy"])
        for number in range(deaths):
            try:
                (Path(folder) / f"death-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return None

    return Together([Error(before=before), Count()], OBJECTIVES, (), UNPRUNED)


def looking(given: str, **arrays: np.ndarray) -> Callable[[str], dict[str, Any]]:
    """What a worker does that looks where its arrays lie: whether in memory that it shares and may not write to."""

    def look(name: str) -> dict[str, Any]:
        array = arrays[name]
        at = array.__array_interface__["data"][0]
        lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
        inside = [line for line in lines if int(line[0].split("-")[0], 16) <= at < int(line[0].split("-")[1], 16)]
        found = {"given": given, "pid": os.getpid(), "sum": float(array.sum()), "writeable": array.flags.writeable}
        return {**found, "shared": "s" in inside[0][1], "folder": os.getcwd(), "threads": os.environ["OMP_NUM_THREADS"]}

    return look


def speaking(given: float) -> Callable[[str], int]:
    """What a worker does that prints a line word by word, with so many seconds after each."""

    def speak(line: str) -> int:
        for stream in (sys.stdout, sys.stderr):
            for word in line.split():
                stream.write(f"{word} ")
                time.sleep(given)
            stream.write("\n")
        return len(line)

    return speak


class Recorded(Learner):
    """Notes in a file how much it had been told when it was asked, by proposal number."""

    name = "toy-recorded"
    record: Path

    def _next_trial(self, rng: Generator) -> Trial | None:
        with self.record.open("a") as file:
            file.write(f"{self.asked} {len(self.history)}\n")
        return super()._next_trial(rng)


def main(folder: Path, trials: int, workers: int, address: str | None = None) -> None:
    """So many trials, by this process (`workers` 0), by others, or on the Ray cluster at `address` (`local`: of its own)."""
    Recorded.record = folder / "asked.txt"
    with RunLock(folder), RunLog(folder / "log.jsonl") as log:
        path = folder / "study.db"
        store = open_store(path) if path.exists() else create_store(path, {"seed": 3})
        print("ready", flush=True)

        def report(trial: Trial) -> None:
            print("trial", trial.number, flush=True)

        options: dict[str, Any] = {"log": log, "on_trial": report}
        if address is not None:
            recipe = Recipe("secateur.testing.toy_study:together", {"slow": 0.05})
            with Ray(recipe, workers, address=None if address == "local" else address, note=log.write) as there:
                study(store, executor=there, **options).run(Stop(trials=trials))
        elif workers:
            with Processes(Recipe("secateur.testing.toy_study:together"), workers) as executor:
                study(store, Recorded, executor=executor, **options).run(Stop(trials=trials))
        else:
            study(store, **options).run(Stop(trials=trials))
        print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
