"""The settings of a run: made of what the user gave and a preset, checked at once, kept as `config.yaml` in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import yaml

from secateur.devices.setup import device_fault
from secateur.errors import ConfigurationError, SecateurError, StudyError, UnknownNameError
from secateur.settings import MOST_THREADS, Settings, option
from secateur.study.opening import MEMORY
from secateur.writing import write_whole

FILE = "config.yaml"


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

    preset: str = option("default", "What is taken where you give nothing.")
    store: str | None = option(
        None,
        "Keep the study in this database (postgresql://…, its password in ~/.pgpass) and not in a file of the run's folder.",
        panel="The search",
    )
    workers: int = option(
        1,
        "Processes that evaluate trials side by side; results then depend on their timing.",
        least=1,
        most=MOST_THREADS,
        panel="The search",
    )
    device: str = option("auto", "cpu, cuda, cuda:N, or auto for a GPU where there is one.")
    seed: int = option(0, "The seed of everything random.", least=0, below=2**32)

    @classmethod
    def resolve(cls, given: Mapping[str, Any]) -> Self:
        """The settings of what the user gave: what is None or missing comes from the preset, then from the defaults.

        Raises ConfigurationError that lists every fault.
        """
        name = given.get("preset") or "default"
        if name not in cls.presets:
            raise UnknownNameError("preset", str(name), cls.presets)
        values = cls._plain({**cls.presets[name], **{k: v for k, v in given.items() if v is not None}})
        store = str(values.get("store", ""))
        if store.startswith("sqlite:///") and store not in MEMORY:  # a run can be resumed from anywhere
            values["store"] = f"sqlite:///{Path(values['store'].removeprefix('sqlite:///')).absolute()}"
        settings = cls(**values)
        return settings.check()

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

    def write(self, folder: Path) -> None:
        text = yaml.safe_dump({"verb": self.verb, **self.as_dict()}, sort_keys=False, allow_unicode=True)
        write_whole(text, folder / FILE)
        if self.store is not None:
            (folder / FILE).chmod(0o600)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The settings of the run in a folder; one that it lacks, because it is older than the setting, has its default."""
        found = _read(folder)
        found.pop("verb", None)
        unknown = cls.unknown(found)
        if unknown:
            raise StudyError(
                f"`{folder / FILE}` has settings that this version does not know: {', '.join(unknown)}. "
                "Use the version that wrote it."
            )
        return cls(**found)


def _read(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.is_file():
        raise StudyError(f"`{folder}` is no run: it has no {FILE}.")
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it holds no settings")
    except (yaml.YAMLError, ValueError, OSError) as error:
        raise StudyError(f"`{path}` cannot be read: {' '.join(str(error).split())}.") from error
    return found


def verb_of(folder: Path) -> str:
    """Which verb made the run in this folder. Raises StudyError where it is no run."""
    return str(_read(folder).get("verb", "prune"))
