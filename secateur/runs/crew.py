"""Who evaluates the trials of a run: this process, others beside it, or workers on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from secateur.devices.device import describe_device, resolve_device
from secateur.devices.launch import gpus_of_workers
from secateur.errors import ConfigurationError
from secateur.estimators.together import Together
from secateur.study import Executor, Inline, Processes, Ray, Recipe, RunLog, StageRow, Store
from secateur.study.executors.ray_cluster import VARIABLE, load_ray
from secateur.study.executors.ray_executor import Alike
from secateur.study.memory_store import MemoryStore

#: What a worker needs to know of a study to make its estimators; of the trials it is told one after the other.
FACTS = ("settings", "data", "task", "chance", "own", "shape", "unpruned", "latency_model", "notes")


class Crew:
    """The workers of a run. `measures`: whether they measure latencies, which must not disturb each other. `started` is how
    many processes a launcher has started on this machine: so many work in their place, each on a device of its own."""

    def __init__(self, settings: Any, *, measures: bool) -> None:
        self.c, self.measures, self.started = settings, measures, 1
        if settings.workers > 1 and measures and settings.executor != "ray":
            raise ConfigurationError(
                "`workers` must be 1 when latency is measured: other workers would disturb the measurement."
            )

    @property
    def workers(self) -> int:
        """As many as were asked for, and at least as many as a launcher has started."""
        return max(int(self.c.workers), self.started)

    @property
    def gpus(self) -> float:
        """What each worker on a cluster gets."""
        if self.c.gpus_per_trial is not None:
            return float(self.c.gpus_per_trial)
        return 1.0 if resolve_device(self.c.device).type == "cuda" else 0.0

    def check(self) -> None:
        """Refuse now, before anything is trained, a cluster that the search could not use.

        Raises ConfigurationError, MissingExtraError.
        """
        if self.c.executor != "ray":
            return
        load_ray()
        if self.c.address or os.environ.get(VARIABLE):
            Ray(Recipe(""), self.c.workers, **self._options()).check()
        elif self.gpus and resolve_device("auto").type != "cuda":
            raise ConfigurationError(f"`gpus_per_trial` is {self.gpus:g}, but this machine has no GPU. Leave it out.")

    def _options(self) -> dict[str, Any]:
        device = "cuda" if self.gpus else str(resolve_device(self.c.device))
        alike = Alike(describe_device, (device,)) if self.measures else None
        return {"address": self.c.address, "gpus": self.gpus, "alike": alike}

    def executor(self, together: Together, recipe: Recipe, log: RunLog) -> Executor:
        """With the estimators of this process, or with a recipe that others make theirs by."""
        if self.c.executor == "ray":
            return Ray(recipe, self.workers, note=log.write, **self._options())
        if self.workers == 1:
            return Inline(together)
        return Processes(recipe, self.workers, gpus_of_workers(self.c.device, self.workers) if self.started > 1 else ())

    @property
    def note(self) -> str | None:
        """What the report says of them."""
        if self.workers == 1:
            return None
        who = "workers on a Ray cluster" if self.c.executor == "ray" else "processes"
        return f"{self.workers} {who} searched in parallel: the same seed may find a different front."


def facts_of(store: Store) -> dict[str, Any]:
    """What a worker needs of a run's store, as plain JSON: a thousand of them do not ask a database."""
    found = {name: value for name in FACTS if (value := store.get_meta(name)) is not None}
    return {"meta": found, "stages": [{**asdict(row), "details": dict(row.details)} for row in store.stages()]}


def store_of(facts: Mapping[str, Any]) -> MemoryStore:
    """A worker's own store, with these facts. What it keeps in it, nobody else sees."""
    made = MemoryStore()
    for name, value in facts["meta"].items():
        made.set_meta(name, value)
    for row in facts["stages"]:
        made.write_stage(StageRow(**row))
    return made
