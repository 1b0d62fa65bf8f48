"""A run's folder, opened: what the runs of all verbs have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.errors import BoundError, ConfigurationError, SecateurError, StudyError, UnknownNameError
from secateur.objectives import Objective, parse_bounds
from secateur.paths import checked, quoted
from secateur.runs.settings import FILE, STUDY, RunSettings, verb_of
from secateur.study import Front, Store, Trials, open_store

#: What lies where in every run's folder.
REPORT, LOG = "report.html", "log.jsonl"
#: The fact in the store that says where a run is.
PROGRESS = "progress"


@dataclass(frozen=True)
class Price:
    """What a speed-up costs: the best network that is so many times faster."""

    times: str
    member: Any

    def __str__(self) -> str:
        gain = self.member.gain
        about = f"{self.member.key[:8]}, {self.member.text}\n  {gain}\n  {gain.details()}"
        if gain.price() == "":  # an architecture that is not trained yet
            return f"{self.times} × faster than {self.member.run.published}, the largest that is: {about}"
        poor = "" if getattr(self.member, "above_chance", True) else ", which leaves a network no better than chance"
        return f"{self.times} × faster costs {gain.cost()}{poor}: {about}"

    def rows(self) -> list[dict[str, Any]]:
        run = self.member.run
        told: dict[str, Any] = find("report", run.configuration.verb)(run).plain_row(self.member)
        return [{"asked_speedup": float(self.times), **told}]


class RunFolder:
    """An existing run folder. Opening it reads no weights."""

    settings: ClassVar[type[RunSettings]]
    #: What one architecture of the run is called.
    noun: ClassVar[str] = "network"

    def __init__(self, folder: str | Path, store: Store | None = None) -> None:
        self.folder = checked(folder, StudyError)
        if not self.folder.is_dir():
            raise StudyError(f"there is no run folder `{folder}`.")
        settings: Any = self.settings.read(self.folder)
        self.configuration = settings
        self.store: Store = store or open_store(settings.store or self.folder / STUDY, patience=settings.store_patience)
        self._known: set[Architecture] = set()
        self.objectives = [Objective.parse(o) for o in settings.objectives]

    def configure(self, settings: RunSettings) -> None:
        """Change the run's settings, in its study and in its folder."""
        self.store.set_meta("settings", settings.kept())
        settings.write(self.folder)
        self.configuration = settings

    @property
    @abstractmethod
    def about(self) -> str:
        """The run in a few words."""

    @cached_property
    @abstractmethod
    def space(self) -> Any:
        """The space that is searched."""

    @property
    @abstractmethod
    def front(self) -> Front[Any]:
        """The Pareto set, as far as the search has got."""

    @property
    def bounds(self) -> list[Objective]:
        """What is kept within bounds and not optimised."""
        return []

    @property
    def unpruned(self) -> dict[str, float]:
        """The values of the unpruned network, which shares refer to; empty where there is none."""
        return dict(self.store.get_meta("unpruned", {}))

    @property
    def latency_model(self) -> dict[str, Any] | None:
        """The latency model's coefficients and its errors, or None where the search went by no predicted latencies."""
        found: dict[str, Any] | None = self.store.get_meta("latency_model")
        return found

    @property
    def trials(self) -> Trials:
        """All trials, in the order of their numbers. Raises StudyError for one that is no point of the run's space."""
        found = self.store.trials()
        for trial in found:
            if trial.architecture not in self._known:
                if not self.holds(trial.architecture):
                    raise StudyError(
                        f"the settings and the study of `{self.folder}` do not match; one of them was changed: "
                        f"{trial.architecture} is not a network of its space."
                    )
                self._known.add(trial.architecture)
        return Trials(found)

    def holds(self, architecture: Architecture) -> bool:
        """Whether a trial of this architecture can be one of the run."""
        return bool(self.space.contains(architecture))

    @property
    def notes(self) -> list[str]:
        """What the report and the user should be told."""
        return list(self.store.get_meta("notes", []))

    def member(self, key: str) -> Any:
        """The architecture with this key, or the beginning of one."""
        return self._member(self.front, key)

    def _member(self, front: Front[Any], key: str) -> Any:
        found = [m for m in front.pool if m.key.startswith(key)]
        if not found:
            raise BoundError(f"no {self.noun} of `{self.folder}` has a key that begins with `{key}`.")
        if len(found) > 1 and found[0].key != key:
            keys = ", ".join(m.key for m in found[:5])
            raise BoundError(f"several {self.noun}s have a key that begins with `{key}`: {keys}.")
        return found[0]

    def choose(self, key: str | None, under: list[str] | None, verb: str, example: str) -> Any:
        """The architecture that the user means, by its key or as the best within bounds: just one of the two is given."""
        if (key is None) == (not under):
            raise ConfigurationError(f"say which {self.noun} to {verb}: either --under {example} or --key …")
        return self.member(key) if key is not None else self.front.best(under=parse_under(under))

    def price(self, faster: str) -> Price:
        """What it costs to be so many times faster (`3x`), and which network that is."""
        return Price(faster.strip().rstrip("x×").strip(), self.front.best(under={"speedup": faster}))

    def __repr__(self) -> str:
        try:
            return str(find("report", self.configuration.verb)(self))
        except SecateurError as error:  # its folder is gone, or there is no page of its kind
            return f"<{type(self).__name__} {self.folder}: {error}>"

    def _repr_html_(self) -> str:
        try:
            return str(find("report", self.configuration.verb)(self).html())
        except SecateurError:
            return f"<pre>{escape(repr(self))}</pre>"

    def no_export(self) -> str:
        """Why there is no checkpoint to export, and what to do instead: of runs whose networks have no weights."""
        return (
            f"the architectures of `{self.folder}` have no weights yet. Train one: "
            f"secateur train {quoted(self.folder)} --key KEY --text … --to …"
        )

    def close(self) -> None:
        self.store.close()


def open_run(folder: str | Path, store: Store | None = None) -> Any:
    """The run in a folder: a `PruneRun`, a `DesignRun` or a `CellsRun`, by the verb that made it. A `store` stands in for the
    run's own."""
    path = checked(folder, StudyError)
    if not path.is_dir():
        raise StudyError(f"there is no run folder `{folder}`.")
    try:
        kind = find("run", verb_of(path))
    except UnknownNameError as error:
        raise StudyError(f"`{path / FILE}` cannot be used: its verb does not create runs: {error}") from error
    return kind(path) if store is None else kind(path, store)


def parse_under(under: list[str] | None) -> dict[str, str]:
    """`["body_parameters=50%", "latency<=20ms", "speedup=3x"]` as bounds by name."""
    bounds: dict[str, str] = {}
    for text in under or []:
        if ">" in text:
            raise ConfigurationError(f"`{text}` is not an upper bound: --under takes a maximum, such as latency=200ms.")
        name, sign, bound = text.replace("<=", "=").partition("=")
        if not sign:
            raise ConfigurationError(f"`{text}` gives no bound: write {name.strip()}=…, such as latency=200ms.")
        if name.strip() in bounds:
            raise ConfigurationError(f"`{name.strip()}` is bounded twice: {', '.join(under or [])}. Give only one bound.")
        bounds[name.strip()] = bound.strip()
    parse_bounds(bounds)
    return bounds
