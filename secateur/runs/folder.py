"""A run's folder, opened: what the runs of all verbs have in common."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from secateur.errors import BoundError, ConfigurationError, StudyError
from secateur.objectives import Bound, Objective
from secateur.runs.progress import Progress
from secateur.runs.settings import Settings
from secateur.study import Front, Store, Trial

#: What lies where in every run's folder.
STUDY, REPORT, LOG = "study.db", "report.html", "log.jsonl"


class RunFolder:
    """An existing run folder. Opening it reads no weights."""

    settings: ClassVar[type[Settings]]
    #: What one architecture of the run is called.
    noun: ClassVar[str] = "network"
    #: What to do where training fails.
    advice: ClassVar[str] = ""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise StudyError(f"there is no run folder `{folder}`.")
        self.configuration: Any = self.settings.read(self.folder)
        self.store = Store.open(self.folder / STUDY)
        self.objectives = [Objective.parse(o) for o in self.configuration.objectives]

    @property
    @abstractmethod
    def about(self) -> str:
        """The run in a few words."""

    @abstractmethod
    def stages(self, progress: Progress) -> Any:
        """What goes through the run's stages: has a method `go`."""

    @property
    @abstractmethod
    def front(self) -> Front[Any]:
        """The Pareto set, as far as the search has got."""

    @property
    def trials(self) -> list[Trial]:
        return self.store.trials()

    def member(self, key: str) -> Any:
        """The architecture with this key, or the beginning of one."""
        return self._member(self.front, key)

    def _member(self, front: Front[Any], key: str) -> Any:
        found = [m for m in front.pool if m.architecture.key.startswith(key)]
        if not found:
            raise BoundError(f"no {self.noun} of `{self.folder}` has a key that begins with `{key}`.")
        if len(found) > 1 and found[0].architecture.key != key:
            keys = ", ".join(m.architecture.key for m in found[:5])
            raise BoundError(f"several {self.noun}s have a key that begins with `{key}`: {keys}.")
        return found[0]

    def close(self) -> None:
        self.store.close()


def parse_under(under: list[str] | None) -> dict[str, Bound]:
    """`["body_parameters=50%", "latency<=20ms"]` as bounds by name."""
    bounds: dict[str, Bound] = {}
    for text in under or []:
        if ">" in text:
            raise ConfigurationError(f"`{text}` is no upper bound: --under takes the most that is allowed, latency=200ms.")
        name, sign, bound = text.replace("<=", "=").partition("=")
        if not sign:
            raise ConfigurationError(f"`{text}` names no bound: write {name.strip()}=…, such as latency=200ms.")
        bounds[name.strip()] = Bound.parse(bound)
    return bounds
