"""Where a study is kept: in memory, or in a SQL database. One row per trial, written when it is asked and when it is told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from secateur.errors import StudyError
from secateur.estimators.together import CacheEntry
from secateur.trial import Status, Trial

Numbers = Mapping[str, float]


#: In a stage's details, the seconds of its attempts before the last.
BEFORE = "seconds_before"


@dataclass(frozen=True)
class StageRow:
    """A stage of a run: running (or killed), done, or stopped with a reason. `seconds` are those of its last attempt."""

    name: str
    status: str
    started: float
    finished: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None

    @property
    def seconds(self) -> float | None:
        return None if self.finished is None else self.finished - self.started

    @property
    def spent(self) -> float:
        """Seconds of all attempts that ended; those of one that was killed are not known."""
        return (self.seconds or 0.0) + float(self.details.get(BEFORE, 0.0))


class Store(ABC):
    """One study. Every method happens whole or not at all, also under kill -9 where the store outlives the process."""

    #: The file or URL, for messages.
    name: str

    @property
    def settings(self) -> dict[str, Any]:
        """What the study was created with."""
        return dict(self.get_meta("settings", {}))

    # Trials

    @abstractmethod
    def begin(self, trial: Trial) -> Trial:
        """Write that a proposed trial is being evaluated; the trial with its number."""

    @abstractmethod
    def restart(self, trial: Trial) -> None:
        """Note that a running trial is evaluated anew, from now on."""

    @abstractmethod
    def finish(self, trial: Trial, extras: Sequence[Trial] = (), cache: Sequence[CacheEntry] = ()) -> list[Trial]:
        """End a running trial and store what came with it, at once: the ended trial, then the extras, in told order.

        Raises StudyError where the trial is not running.
        """

    @abstractmethod
    def add(self, trial: Trial, *, told: bool = False) -> int:
        """Store a result that nobody asked for (imported, polished); the new row's number.

        With `told` a resumed searcher is told of it, in its place; without, no searcher ever is.
        """

    @abstractmethod
    def trials(self) -> list[Trial]:
        """All trials in the order of their numbers."""

    def running(self) -> list[Trial]:
        """The trials that were begun and have not ended, in the order they were asked."""
        return [t for t in self.trials() if t.status == Status.RUNNING]

    @abstractmethod
    def known(self, key: str) -> dict[str, CacheEntry]:
        """What estimators found of an architecture, by their fingerprints."""

    # Facts about the study, curves of trainings, stages

    @abstractmethod
    def get_meta(self, key: str, default: Any = None) -> Any:
        """A fact about the study: any JSON value."""

    @abstractmethod
    def set_meta(self, key: str, value: Any) -> None:
        """Keep a fact about the study: any JSON value."""

    @abstractmethod
    def log_curve(self, name: str, step: int, values: Numbers) -> None:
        """A point of a curve (a training loss, say). A step that is logged again, after a resume, replaces the old one."""

    @abstractmethod
    def curve(self, name: str) -> list[tuple[int, dict[str, float]]]:
        """The points of a curve as (step, values), by step."""

    @abstractmethod
    def curves(self) -> list[str]:
        """The names of the curves there are."""

    @abstractmethod
    def stages(self) -> list[StageRow]:
        """The stages begun so far, in the order they first began."""

    @abstractmethod
    def write_stage(self, row: StageRow) -> None:
        """Keep what is known of a stage, in the place of what was."""

    def discard(self) -> None:  # noqa: B027 - a store in memory goes by itself
        """Remove the study: for a start that failed before anything was done."""

    def close(self) -> None:  # noqa: B027 - a store in memory has nothing to close
        """Let go of files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def must_have_ended(trial: Trial) -> None:
    """Raise ValueError for a trial that is still running."""
    if trial.status not in tuple(Status) or trial.status == Status.RUNNING:
        raise ValueError(f"a result must be complete, infeasible or failed, got `{trial.status}`")


def not_running(name: str, trial: Trial) -> StudyError:
    return StudyError(f"`{name}`: trial {trial.number} is not running, so it cannot be ended. Is another process at work?")
