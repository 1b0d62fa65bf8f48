"""A toy study: pure-Python estimators on `small` of a 2-layer network. Run as a script, it is a study to be killed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from secateur.architecture import Architecture
from secateur.estimators.base import Estimator, Evaluation
from secateur.objectives import Objective
from secateur.rng import Generator, generator
from secateur.search.base import Result, Searcher
from secateur.spaces.pruning import Shape, Small
from secateur.study import RunLock, RunLog, Store, Study

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


def study(store: Store, searcher: type[Searcher] = Learner, error: Error | None = None, **options: Any) -> Study:
    objectives = options.pop("objectives", OBJECTIVES)
    return Study(store, searcher(SPACE, objectives, seed=3), [error or Error(), Count()], objectives, UNPRUNED, **options)


def story(store: Store) -> list[tuple[Any, ...]]:
    """All that must not depend on interruptions: everything but the times."""
    return [
        (t.number, t.id, t.told, t.architecture, t.status, dict(t.values), dict(t.details), t.reason, t.origin, t.budget)
        for t in store.trials()
    ]


def told(results: Sequence[Result]) -> list[tuple[Any, ...]]:
    return [(r.id, r.architecture.key, r.status, dict(r.values), r.origin) for r in results]


def main(folder: Path, trials: int) -> None:
    with RunLock(folder), RunLog(folder / "log.jsonl") as log:
        path = folder / "study.db"
        store = Store.open(path) if path.exists() else Store.create(path, {"seed": 3})
        print("ready", flush=True)

        def report(trial: Any) -> None:
            print("trial", trial.number, flush=True)

        study(store, error=Error(before=lambda architecture: time.sleep(0.003)), log=log, on_trial=report).run(trials)
        print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
