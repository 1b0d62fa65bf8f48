"""The settings of a run: made of what the user gave and a preset, checked at once, kept as `config.yaml` in its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import yaml

from secateur.catalogue import find_searcher, listed
from secateur.devices.setup import device_fault
from secateur.errors import ConfigurationError, SecateurError, StudyError, UnknownNameError, one_line
from secateur.paths import reason
from secateur.settings import DAY, MOST_THREADS, MOST_TRIALS, Settings, fits, option
from secateur.study.executors.settings import EXECUTORS, MOST_WORKERS, executor_faults
from secateur.study.opening import MEMORY, open_store
from secateur.writing import write_whole

#: A run's settings, and its study, which keeps them as well.
FILE, STUDY = "config.yaml", "study.db"
#: Of settings that nobody knows so many are named.
SHOWN = 10


class Faults(list[str]):
    """All that is wrong with a configuration, collected to be said at once."""

    def tried(self, check: Callable[..., Any], *args: Any) -> Any:
        """What `check` returns, or None where it raises: its faults join these."""
        try:
            return check(*args)
        except ConfigurationError as error:
            self.extend(fault for fault in error.faults if fault not in self)
        except SecateurError as error:
            self.append(str(error))
        return None


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """What the runs of all verbs have. A preset holds what differs from the fields' own defaults."""

    verb: ClassVar[str]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]

    preset: str = option("default", "Where the values you do not give come from.")
    store: str | None = option(
        None,
        "Keep the study in this database (postgresql://…, password in ~/.pgpass) instead of a file in the run's folder.",
        panel="The search",
    )
    store_patience: float = option(
        120.0, "Seconds to wait for the database of --store where it goes away.", least=0.0, most=DAY, panel="The search"
    )
    device: str = option("auto", "cpu, cuda, cuda:N, or auto: a GPU if there is one.")
    seed: int = option(0, "The seed for everything random.", least=0, below=2**32)

    @classmethod
    def resolve(cls, given: Mapping[str, Any]) -> Self:
        """The settings of what the user gave: what is None or missing comes from the preset, then from the defaults.

        Raises ConfigurationError that lists every fault.
        """
        return cls.made(given).check()

    @classmethod
    def made(cls, given: Mapping[str, Any]) -> Self:
        """The same, unchecked but for the preset's name."""
        name = given.get("preset") or "default"
        if name not in cls.presets:
            raise UnknownNameError("preset", str(name), cls.presets)
        values = cls._plain({**cls.presets[name], **{k: v for k, v in given.items() if v is not None}})
        store = str(values.get("store", ""))
        if store.startswith("sqlite:///") and store not in MEMORY:  # a run can be resumed from anywhere
            values["store"] = f"sqlite:///{Path(store.removeprefix('sqlite:///')).absolute()}"
        return cls(**values)

    @classmethod
    def _plain(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values as they go into a config file: texts, numbers and lists of these."""
        return values

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        if fault := device_fault(self.device):
            found.append(fault)
        if self.store is not None and ("://" not in str(self.store) or self.store in MEMORY):
            # What was given is not said: it may hold a password.
            found.append("`store` must be the URL of a database that outlives the run, such as postgresql://user@host/name.")
        return found

    @property
    def wanted(self) -> int | None:
        """How many trials a search may have; None where time alone ends it, or nothing is searched."""
        return None

    def preset_value(self, name: str) -> Any:
        """What a setting is where nobody gives it."""
        return self.presets.get(self.preset, {}).get(name, self.usual(name))

    def kept(self) -> dict[str, Any]:
        """What the study keeps of them; not the URL of a store, which may hold a password."""
        said = {"verb": self.verb, **self.as_dict()}
        return said if self.store is None else {name: value for name, value in said.items() if name != "store"}

    def write(self, folder: Path) -> None:
        text = _text({"verb": self.verb, **self.as_dict()})
        write_whole(text, folder / FILE, mode=None if self.store is None else 0o600)

    def missing(self, folder: Path) -> bool:
        """Whether the settings' file is not there, empty or cut short."""
        file = folder / FILE
        said = file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""
        whole = _text({"verb": self.verb, **self.as_dict()})
        return whole != said and whole.startswith(said)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The settings of the run in a folder; one that it lacks, because it is older than the setting, has its default."""
        found = _read(folder, cls.options())
        found.pop("verb", None)
        odd = [str(name) for name, value in found.items() if not isinstance(name, str) or not _plain(value)]
        if odd:
            raise StudyError(f"`{folder / FILE}` cannot be used: `{odd[0]}` must be a text, a number or a list of these.")
        unknown = cls.unknown(found)
        if unknown:
            more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
            raise StudyError(
                f"`{folder / FILE}` has settings that this version does not know: {', '.join(unknown[:SHOWN])}{more}. "
                "Use the version that wrote it."
            )
        lacking = [name for name in cls.required() if name not in found]
        if lacking:
            raise StudyError(f"`{folder / FILE}` cannot be used: it is missing {', '.join(lacking)}.")
        settings = cls(**found)
        if faults := settings.type_faults():
            raise StudyError(f"`{folder / FILE}` cannot be used: {' '.join(faults)}")
        return settings


@dataclass(frozen=True, kw_only=True)
class SearchRunSettings(RunSettings):
    """What the runs have that search."""

    population: int | None = option(
        None,
        "How many results mo-rea, nsga2 and evolution breed from; by default a tenth of the trials, 10 to 100 (nsga2: 50).",
        least=1,
        most=MOST_TRIALS,
        panel="The search",
    )
    sample: int | None = option(
        None,
        "How many of the population mo-rea draws a parent from; by default half of it, at most 10.",
        least=1,
        most=MOST_TRIALS,
        panel="The search",
    )
    workers: int = option(
        1,
        "Processes that evaluate trials in parallel; with several, results depend on their timing.",
        least=1,
        most=MOST_WORKERS,
        panel="The search",
    )
    executor: str = option(
        "processes",
        "Where they are: processes of this machine, or ray: of a Ray cluster (this machine alone where no --address is given).",
        known=EXECUTORS,
        panel="The search",
    )
    address: str | None = option(
        None, "Of a Ray cluster that is there already: host:port, or auto for the one of this machine.", panel="The search"
    )
    gpus_per_trial: float | None = option(
        None,
        "GPUs of the Ray cluster for each worker, also a part of one, such as 0.25; by default 1 where the device is a GPU.",
        least=0,
        most=MOST_THREADS,
        panel="The search",
    )

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        if self.sound("executor", "workers", "address", "gpus_per_trial"):
            found += executor_faults(self.executor, self.workers, self.address, self.gpus_per_trial, self.device)
        return found

    @property
    def wanted(self) -> int | None:
        """How many trials the search may have; None where time alone ends it."""
        trials: int = self.as_dict()["trials"]
        return None if trials == MOST_TRIALS else trials

    def check_sizes(self, searcher: str) -> None:
        """Raises ConfigurationError where a population or sample is given that the searcher cannot have."""
        if (self.population is not None or self.sample is not None) and self.sound("population", "sample"):
            self.searcher_sizes(searcher)

    def searcher_sizes(self, searcher: str) -> dict[str, int]:
        """The population and sample of a searcher that has such; where time ends the search, for as many trials as usual."""
        trials = self.preset_value("trials") if self.wanted is None else self.wanted
        found: dict[str, int] = find_searcher(searcher, self.verb).sizes(trials, self.population, self.sample)
        return found


def _plain(value: Any) -> bool:
    """Whether a value is a text, a number or a list of these: not what YAML could make of tags, dates and references."""
    return fits(value, str | float | bool | None | list[str | float])


def _read(folder: Path, names: Iterable[str] = ()) -> dict[str, Any]:
    """What the file says; what the study keeps, where the file is not there, empty or cut short. `names`: what to expect."""
    path, said = folder / FILE, ""
    fault: Exception | None = None
    found: dict[str, Any] = {}
    try:
        # What is no UTF-8 is no YAML either, and said by it.
        said = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
        found = yaml.safe_load(said)
        if not isinstance(found, dict):
            raise ValueError("it contains no settings")
        if said.endswith("\n") and set(names) <= set(found):
            return found
    except (yaml.YAMLError, ValueError, OSError, RecursionError) as error:
        fault = error
    kept = _kept(folder)
    if kept is not None and _text(kept).startswith(said) and not isinstance(fault, OSError):
        return kept
    if not path.exists():
        raise StudyError(f"`{folder}` is not a run: it has no {FILE}.")
    if fault is not None:
        hint = "" if kept is None else f" Remove it, and the settings are taken from {STUDY}."
        raise StudyError(
            f"`{path}` cannot be read: {reason(fault) if isinstance(fault, OSError) else one_line(fault)}.{hint}"
        ) from fault
    return found


def _kept(folder: Path) -> dict[str, Any] | None:
    """The settings that the study in a folder began with; None where there is none, or it is of an older version."""
    if not (folder / STUDY).is_file():
        return None
    store = open_store(folder / STUDY)
    try:
        return store.settings if "verb" in store.settings else None
    finally:
        store.close()


def _text(settings: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True)


def verb_of(folder: Path) -> str:
    """Which verb made the run in this folder. Raises StudyError where it is no run."""
    verb = _read(folder).get("verb", "prune")
    if not isinstance(verb, str):
        raise StudyError(f"`{folder / FILE}` cannot be used: its verb must be {listed('run')}.")
    return verb
