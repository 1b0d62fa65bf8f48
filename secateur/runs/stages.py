"""A run is a list of stages with a journal: one loop goes through those not done. The search is a stage of every run."""

from __future__ import annotations

import math
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from secateur.catalogue import find
from secateur.checkpoints.quiet import quiet
from secateur.devices.launch import gpus_of_workers
from secateur.errors import BoundError, ConfigurationError, MissingExtraError, StudyError
from secateur.estimators.base import Estimator
from secateur.estimators.together import Together
from secateur.paths import quoted
from secateur.runs.bounds import nothing_found
from secateur.runs.crew import Crew
from secateur.runs.folder import LOG, PROGRESS, RunFolder
from secateur.runs.progress import Moment, Progress
from secateur.runs.timing import Effort
from secateur.study import Executor, Front, Inline, Journal, Processes, Recipe, RunLog, Stop, Study
from secateur.training.logs import Logs
from secateur.trial import Status, Trial


class Stage(NamedTuple):
    """A step of a run: its name in the journal, and what is done. What it leaves lies in the run's folder or store."""

    name: str
    do: Callable[[], None]


class Work(ABC):
    """A run on its way: its stages, and what they share. A job says which stages there are and how candidates are evaluated."""

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
        self.crew = Crew()

    @cached_property
    def log(self) -> RunLog:
        return RunLog(self.folder / LOG)

    @abstractmethod
    def prepare(self) -> None:
        """Load what the stages work on, and refuse now what they would refuse later."""

    @abstractmethod
    def stages(self) -> list[Stage]:
        """All stages of the run, in order."""

    @abstractmethod
    def searcher(self) -> Any:
        """A new searcher."""

    @abstractmethod
    def estimators(self) -> list[Estimator]:
        """What scores candidates during the search."""

    def before_stages(self, left: list[str]) -> None:  # noqa: B027 - most jobs have nothing to ask
        """Hook: called with the names of the stages that are left to do."""

    def efforts(self) -> Mapping[str, Effort]:
        """What each stage is expected to take, by its name: for the time left. One that is not named is unknown."""
        return {}

    def after_trial(self, study: Study, left: int) -> None:  # noqa: B027 - most jobs need not know
        """Hook: called with each trial that has ended; at most `left` more follow."""

    def joint(self) -> Collection[str]:
        """The stages that all processes of a launch do together."""
        return ()

    def tidy(self) -> None:  # noqa: B027 - most jobs leave nothing behind
        """Hook: called when all stages are done."""

    def go(self) -> None:
        """Every stage that is not done yet."""
        self.prepare()
        self.searcher()  # what it refuses, it refuses now
        left = [stage for stage in self.stages() if not self.journal.done(stage.name)]
        self.before_stages([stage.name for stage in left])
        efforts = self.efforts()
        self.progress.plan({stage.name: efforts.get(stage.name) for stage in left}, self._publish)
        self.crew.plan([stage.name for stage in left], self.joint())
        for stage in left:
            self.log.write("stage", stage=stage.name)
            with self.journal.stage(stage.name), self.progress.stage(stage.name), quiet(), self.crew.at(stage.name):
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

    # The search, the same for all jobs.

    def search_stage(self) -> Stage:
        return Stage("search", self._search)

    def together(self) -> Together:
        """All that scores a candidate, against the run's bounds."""
        return Together(self.estimators(), self._run.objectives, self._run.bounds, self._run.unpruned)

    def check_workers(self, names: list[str]) -> None:
        """Refuse several workers where what they measure would disturb each other."""
        if self.c.workers > 1 and "latency" in names:
            raise ConfigurationError(
                "`workers` must be 1 when latency is measured: other workers would disturb the measurement."
            )

    @property
    def workers(self) -> int:
        """Processes that search: as many as were asked for, and at least as many as a launcher has started here."""
        return max(int(self.c.workers), self.crew.local)

    def _search(self) -> None:
        run, wanted = self._run, self.c.trials
        ended = sum(t.id is not None and t.status != Status.RUNNING for t in self.store.trials())
        # Also where workers make their own: the unpruned network's values come of it.
        executor: Executor = Inline(self.together())
        if self.workers > 1:
            recipe = Recipe("secateur.runs.stages:estimators_of", {"folder": str(self.folder.resolve())})
            gpus = gpus_of_workers(self.c.device, self.workers) if self.crew.local > 1 else ()
            executor = Processes(recipe, self.workers, gpus)
            self.note(f"{self.workers} processes searched in parallel: the same seed may find a different front.")
        logs, searcher = self.logs.of("search"), self.searcher()
        seconds = self._seconds()
        with executor, self.progress.bar(f"searching ({searcher.name})") as advance, logs.writer() as write:

            def on_trial(_: Trial) -> None:
                nonlocal ended
                ended += 1
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
        return float((given - spent) * self.workers)

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

    # The report, the same for all jobs.

    def write_report(self) -> None:
        try:
            find("report", self.c.verb)(self._run, ending=True).write()
        except MissingExtraError as error:
            self.note(f"No report was written: {error} Then: secateur report {quoted(self.folder)}")


def estimators_of(folder: str) -> Together:
    """What scores the candidates of the run in a folder, made anew: for a process that works for it."""
    from secateur.runs.folder import open_run

    run = open_run(folder)
    work: Work = find("work", run.configuration.verb)(run, Progress(False))
    work.prepare()
    return work.together()
