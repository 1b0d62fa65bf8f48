"""The settings of a run, under the names of its verb's arguments, kept as `config.yaml` in its folder."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import yaml

from secateur.errors import ConfigurationError, SecateurError, StudyError

FILE = "config.yaml"


class Settings(SimpleNamespace):
    """Everything resolved. One class per verb that makes runs."""

    verb: ClassVar[str]

    @classmethod
    def of_verb(cls) -> Any:
        """The function whose arguments these are."""
        raise NotImplementedError(f"`{cls.__name__}` must say whose arguments it holds")

    def write(self, folder: Path) -> None:
        text = yaml.safe_dump({"verb": self.verb, **vars(self)}, sort_keys=False, allow_unicode=True)
        (folder / FILE).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        found = _read(folder)
        found.pop("verb", None)
        missing = sorted(set(signature(cls.of_verb()).parameters) - {"to", "progress"} - set(found))
        if missing:
            raise StudyError(f"`{folder / FILE}` lacks settings: {', '.join(missing)}.")
        return cls(**found)


class Faults(list[str]):
    """All that is wrong with a configuration, collected to be said at once."""

    def tried(self, check: Callable[..., Any], *args: Any) -> Any:
        """What `check` returns, or None where it raises: its faults join these."""
        try:
            return check(*args)
        except ConfigurationError as error:
            self.extend(error.faults)
        except SecateurError as error:
            self.append(str(error))
        return None


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
