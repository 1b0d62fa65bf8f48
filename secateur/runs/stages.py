"""A run is a list of stages with a journal: one loop goes through those not done. Runs that search have a stage for it."""

from __future__ import annotations

import math
import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from secateur.catalogue import find
from secateur.checkpoints.quiet import quiet
from secateur.errors import BoundError, ConfigurationError, MissingExtraError, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.together import Together
from secateur.paths import quoted
from secateur.runs.bounds import nothing_found
from secateur.runs.crew import Crew, facts_of, store_of
from secateur.runs.folder import LOG, PROGRESS, RunFolder, open_run
from secateur.runs.launched import Launched
from secateur.runs.progress import Moment, Progress
from secateur.runs.timing import Effort
from secateur.study import Front, Journal, Recipe, RunLog, Stop, Study
from secateur.training.logs import Logs
from secateur.trial import Status, Trial


class Stage(NamedTuple):
    """A step of a run: its name in the journal, and what is done. What it leaves lies in the run's folder or store."""

    name: str
    do: Callable[[], None]


class Work(ABC):
    """A run on its way: its stages, and what they share. A job says which stages there are."""

    def __init__(self, run: RunFolder, progress: Progress) -> None:
        self.c: Any = run.configuration
        self.folder = run.folder
        self.store = run.store
        self.journal = Journal(run.store)
        self.progress = progress
        #: Where trainings and the search are logged to: a library that is missing is said now.
        self.logs = Logs.of_run(getattr(self.c, "log_to", ()), self.folder)
        self._run = run
        #: Other processes that a launcher has started for this run.
        self.launched = Launched()

    @cached_property
    def log(self) -> RunLog:
        return RunLog(self.folder / LOG)

    @abstractmethod
    def prepare(self) -> None:
        """Load what the stages work on, and refuse now what they would refuse later."""

    @abstractmethod
    def stages(self) -> list[Stage]:
        """All stages of the run, in order."""

    def ready(self) -> None:  # noqa: B027 - most have said all when they prepared
        """Hook: called when all is loaded, before the first stage."""

    def before_stages(self, left: list[str]) -> None:  # noqa: B027 - most jobs have nothing to ask
        """Hook: called with the names of the stages that are left to do."""

    def efforts(self) -> Mapping[str, Effort]:
        """What each stage is expected to take, by its name: for the time left. One that is not named is unknown."""
        return {}

    def joint(self) -> Collection[str]:
        """The stages that all processes of a launch do together."""
        return ()

    def tidy(self) -> None:  # noqa: B027 - most jobs leave nothing behind
        """Hook: called when all stages are done."""

    def go(self) -> None:
        """Every stage that is not done yet."""
        self.prepare()
        self.ready()
        left = [stage for stage in self.stages() if not self.journal.done(stage.name)]
        self.before_stages([stage.name for stage in left])
        efforts = self.efforts()
        self.progress.plan({stage.name: efforts.get(stage.name) for stage in left}, self._publish)
        self.launched.plan([stage.name for stage in left], self.joint())
        for stage in left:
            self.log.write("stage", stage=stage.name)
            with self.journal.stage(stage.name), self.progress.stage(stage.name), quiet(), self.launched.at(stage.name):
                stage.do()
        self.store.set_meta(PROGRESS, None)
        self.tidy()  # only now: a run killed between two stages needs what they left to go on
        self.log.write("finished")

    def _publish(self, moment: Moment) -> None:
        """Keep where the run is, for those who watch it from another process."""
        self.store.set_meta(PROGRESS, {**moment.as_dict(), "at": time.time(), "host": platform.node()})

    def note(self, text: str) -> None:
        """Something the report and the user should be told."""
        notes = self._run.notes
        if text not in notes:
            self.store.set_meta("notes", [*notes, text])
            self.progress.say(text)

    # The report, the same for all jobs.

    def write_report(self) -> None:
        try:
            find("report", self.c.verb)(self._run, ending=True).write()
        except MissingExtraError as error:
            self.note(f"No report was written: {error} Then: secateur report {quoted(self.folder)}")


class SearchWork(Work):
    """A run that searches: a job says how candidates are proposed and evaluated."""

    def __init__(self, run: RunFolder, progress: Progress) -> None:
        super().__init__(run, progress)
        self.crew = Crew(self.c, measures=False)
        #: Whether another process goes through the stages.
        self.joins = False
        #: In a worker: the weights that came with its recipe, by name.
        self.carried: Mapping[str, np.ndarray] = {}

    @abstractmethod
    def searcher(self) -> Any:
        """A new searcher."""

    @abstractmethod
    def estimators(self) -> list[Estimator]:
        """What scores candidates during the search."""

    def weights(self) -> Mapping[str, np.ndarray]:
        """Name → what workers on a cluster are given of the weights that lie in files: see `secateur.checkpoints.carried`."""
        return {}

    def ready(self) -> None:
        self.searcher()  # what it refuses, it refuses now
        if not self.journal.done("search"):
            self.crew.check()

    def join(self) -> None:
        """The search alone, beside the process that goes through the stages: it says how far the run is, and keeps the log."""
        self.joins = True
        self.log = RunLog(self.folder / f"{LOG.removesuffix('.jsonl')}-{platform.node()}-{os.getpid()}.jsonl")
        self.prepare()
        with quiet():
            self._search()

    def after_trial(self, study: Study, left: int) -> None:
        """Hook: called with each trial that has ended; at most `left` more follow."""

    def search_stage(self) -> Stage:
        return Stage("search", self._search)

    def together(self) -> Together:
        """All that scores a candidate, against the run's bounds."""
        return Together(self.estimators(), self._run.objectives, self._run.bounds, self._run.unpruned)

    def check_workers(self, names: list[str]) -> None:
        """Refuse several workers where what they measure would disturb each other, and drivers whose devices differ."""
        if self.joins and "latency" in names:
            raise ConfigurationError(
                "a run cannot be joined when latency is measured: another process, or another device, would disturb it."
            )
        self.crew = Crew(self.c, measures="latency" in names)

    def _search(self) -> None:
        run, wanted = self._run, self.c.trials
        ended = sum(t.id is not None and t.status != Status.RUNNING for t in self.store.trials())
        together = self.together()  # also where workers make their own: the unpruned network's values come of it
        arguments, weights = {"folder": str(self.folder.resolve()), "facts": facts_of(self.store)}, self.weights()
        self.crew.started = self.launched.local
        executor = self.crew.executor(together, Recipe("secateur.runs.stages:estimators_of", arguments, weights), self.log)
        if self.crew.note is not None:
            self.note(self.crew.note)
        logs, searcher = self.logs.of("search"), self.searcher()
        seconds = self._seconds()
        with executor, self.progress.bar(f"searching ({searcher.name})") as advance, logs.writer() as write:

            def on_trial(_: Trial) -> None:
                nonlocal ended
                ended = study.ended
                advance(*((ended, wanted) if seconds is None else (round(study.seconds), round(seconds))))
                pace = study.seconds / ended
                left = wanted - ended if seconds is None else math.ceil(max(0.0, seconds - study.seconds) / max(pace, 1e-9))
                self.after_trial(study, min(wanted - ended, left))
                if logs.to and (front := study.front()).members:
                    write(ended, self._reached(front))

            study = Study(
                self.store, searcher, [], run.objectives, run.unpruned, executor=executor, log=self.log, on_trial=on_trial
            )
            study.run(Stop(trials=wanted, seconds=seconds))
        ended = study.ended
        if not study.alone:
            self.note("Several drivers searched at once: the same seed may find a different front.")
        if study.exhausted:
            tried = f"{ended}" if self.c.wanted is None else f"{ended} of {wanted}"
            self.note(study.searcher.ending.format(ended=ended, tried=tried))
        if not study.front().members:
            raise BoundError(nothing_found(run.trials, self.asked(), ended, run.unpruned) or self.not_even_asked())

    def time_limit(self) -> float | None:
        """The seconds that a run may take until its search ends, or None."""
        return None

    def _seconds(self) -> float | None:
        """What is left for the search of the seconds that the user gave; each worker has as many. Raises StudyError where
        nothing is left."""
        given = self.time_limit()
        if given is None:
            return None
        spent = sum(row.spent for row in self.journal.rows() if row.name != "search")
        if spent >= given:
            raise StudyError(
                f"the stages before the search took {spent:.0f} of the {given:g} `seconds`: none is left for a first trial. "
                f"Nothing is lost: continue with secateur resume {quoted(self.folder)} --seconds {2 * spent:.0f}"
            )
        return float((given - spent) * self.crew.workers)

    def _reached(self, front: Front[Any]) -> dict[str, float]:
        """What is logged of a search. The reference is fixed, so that a later point can be compared with an earlier one."""
        first = front.objectives[0]
        best = min(first.sign * member.values[first.name] for member in front) * first.sign
        corner = {**front.unpruned, first.name: max(1.0, 1.1 * front.unpruned[first.name])}
        return {f"best_{first.name}": best, "hypervolume": front.hypervolume(corner)}

    def asked(self) -> list[tuple[Any, str]]:
        """All that is optimised or bounded, and as the user wrote it."""
        texts = [*self.c.objectives, *(getattr(self.c, "bounds", None) or [])]
        return list(zip((*self._run.objectives, *self._run.bounds), texts, strict=True))

    def not_even_asked(self) -> str:
        """What to say where no trial was even begun: the searcher found none that keeps the bounds."""
        return "the searcher found nothing to try."


def estimators_of(folder: str, facts: Mapping[str, Any], **weights: np.ndarray) -> Together:
    """What scores the candidates of the run in a folder, made anew: for a process that works for it. `facts` are what it needs
    of the run's store, and `weights` those that need not be read from files."""
    if not Path(folder).is_dir():
        raise StudyError(f"`{folder}` is not there on {platform.node()}: keep runs in a folder that all nodes share.")
    run = open_run(folder, store_of(facts))
    work: SearchWork = find("work", run.configuration.verb)(run, Progress(False))
    work.carried = weights
    work.prepare()
    return work.together()
