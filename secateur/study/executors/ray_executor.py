"""Trials on a Ray cluster: of this machine alone, or one that is there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from secateur.errors import ConfigurationError, StudyError
from secateur.estimators.together import Known, Outcome
from secateur.study.executors.base import Executor, Recipe
from secateur.study.executors.ray_cluster import Place, RayCluster, load_ray
from secateur.study.executors.ray_pool import ATTEMPTS, Lost, Note, RayPool, Work
from secateur.trial import Status, Trial


@dataclass(frozen=True)
class Alike:
    """Measurements are compared only where `describe(*given)` says the same of a node as of this one."""

    describe: Callable[..., str]
    given: Sequence[Any] = ()


class Ray(Executor):
    """`workers` processes on a Ray cluster, each with estimators of its own, made by the recipe.

    Without an `address` the cluster is this machine, for as long as the executor is open. The recipe's arrays go into the
    object store once; workers of a node share them. A worker or node that dies costs the trials it was at, which begin again;
    the second time a trial has failed. `gpus` is what each worker gets, also a part of one. Where measurements must be `alike`,
    each worker has a node of its own. `note` is told of workers and of what they print.
    """

    def __init__(
        self,
        recipe: Recipe,
        workers: int,
        *,
        address: str | None = None,
        gpus: float = 0.0,
        alike: Alike | None = None,
        note: Note | None = None,
    ) -> None:
        if workers < 1:
            raise ConfigurationError(f"`workers` must be at least 1, got {workers}.")
        load_ray()
        self.recipe, self.workers = recipe, workers
        self.address, self.gpus, self.alike, self.note = address, gpus, alike, note
        self._cluster: RayCluster | None = None
        self._pool: RayPool | None = None
        self._trials: dict[int | None, Trial] = {}

    def start(self) -> RayPool:
        """Join the cluster, where that was not done yet. Raises ConfigurationError where it does not answer or has no room."""
        if self._pool is None:
            given = {"function": self.recipe.function, "arguments": dict(self.recipe.arguments)}
            work = Work(f"{__name__}:evaluating", given, self.recipe.arrays)
            self._cluster = cluster = RayCluster(self.address, workers=self.workers, memory=2 * work.bytes)
            try:
                self._pool = RayPool(cluster, work, self._places(cluster), self.note)
            except BaseException:
                cluster.leave()
                raise
        return self._pool

    def check(self) -> None:
        """Raise ConfigurationError where the cluster does not answer or has no room, without beginning anything."""
        cluster = RayCluster(self.address, workers=self.workers)
        try:
            self._places(cluster)
        finally:
            cluster.leave()

    def _places(self, cluster: RayCluster) -> list[Place]:
        if self.alike is None:
            return cluster.places(self.workers, self.gpus)
        return cluster.places_alike(self.workers, self.gpus, self.alike.describe, self.alike.given)

    def submit(self, trial: Trial, known: Known, extras: bool) -> None:
        self.start().submit(trial.id, (trial, dict(known), extras))
        self._trials[trial.id] = trial

    def take(self) -> Outcome:
        if self._pool is None or not self._trials:
            raise StudyError("no trial was submitted, so none can end.")
        number, found = self._pool.take()
        assert isinstance(number, int | None)
        trial = self._trials.pop(number)
        if isinstance(found, Lost):
            reason = f"the workers that evaluated it died {ATTEMPTS} times: {found.reason}"
            return Outcome(replace(trial, status=Status.FAILED, reason=reason))
        outcome: Outcome = found
        return outcome

    def close(self) -> None:
        self._trials.clear()
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        if self._cluster is not None:
            self._cluster.leave()
            self._cluster = None


def evaluating(given: dict[str, Any], **arrays: Any) -> Callable[[tuple[Trial, Known, bool]], Outcome]:
    """What a worker does with a trial."""
    together = Recipe(given["function"], given["arguments"], arrays).make()
    return lambda task: together.outcome(*task)
