"""Settings: frozen dataclasses whose fields say what they are for and what they may be.

Each is written once. The signature of a verb, its command line, the run's config file and the checks all come from here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

from secateur.errors import ConfigurationError, UnknownNameError


@dataclass(frozen=True)
class Option:
    """What a setting is for (`about`, `panel` of the help, `flag` on the command line) and what it may be.

    Bounds are inclusive (`least`, `most`) or not (`above`, `below`); `known` are the only values allowed. A `positional` one
    comes first in calls.
    """

    about: str = ""
    panel: str | None = None
    flag: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    known: tuple[str, ...] | None = None
    positional: bool = False

    def fault(self, name: str, hint: Any, value: Any) -> str | None:
        """Why `value` may not be this setting, in a sentence; None where it may. `hint` is the field's type."""
        kinds = set(get_args(hint)) if get_origin(hint) in (Union, UnionType) else {hint}
        if value is None and NoneType in kinds:
            return None
        if bool in kinds:
            return None if isinstance(value, bool) else f"`{name}` must be true or false, got {value!r}."
        if kinds & {int, float} and (isinstance(value, int | float) or not kinds & {str, list}):
            return self._number_fault(name, value, whole=float not in kinds)
        for one in value if isinstance(value, list) else [value]:
            if self.known is not None and one not in self.known:
                return UnknownNameError(name, str(one), self.known).faults[0]
        if str in kinds and not isinstance(value, str) and not any(get_origin(kind) in (list, tuple) for kind in kinds):
            return f"`{name}` must be text, got {value!r}."
        return None

    def _number_fault(self, name: str, value: Any, whole: bool) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not math.isfinite(value):
            return f"`{name}` must be a {'whole' if whole else 'finite'} number, got {value!r}."
        rules = [
            (self.least, "at least", lambda bound: value >= bound),
            (self.above, "above", lambda bound: value > bound),
            (self.most, "at most", lambda bound: value <= bound),
            (self.below, "below", lambda bound: value < bound),
        ]
        given = [(bound, word, keeps) for bound, word, keeps in rules if bound is not None]
        if all(keeps(bound) for bound, _, keeps in given):
            return None
        said = " and ".join(f"{word} {bound:,}" for bound, word, _ in given)
        return f"`{name}` must be {said}, got {value}."


def option(default: Any = dataclasses.MISSING, about: str = "", **rules: Any) -> Any:
    """A field of a settings class: its default, what it is for, and the rules of `Option`."""
    return _field(default, {"option": Option(about, **rules)})


def _field(default: Any, metadata: Mapping[str, Any]) -> Any:
    if isinstance(default, list | dict):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def shared(source: type[Settings], name: str, default: Any = dataclasses.MISSING, **changes: Any) -> Any:
    """The field `name` of another settings class, with its rules and, unless another is given, its default."""
    field = next(f for f in dataclasses.fields(source) if f.name == name)
    metadata = {"option": dataclasses.replace(field.metadata["option"], **changes)}
    if default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=field.default_factory, metadata=metadata)
    return _field(field.default if default is dataclasses.MISSING else default, metadata)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The base of all settings."""

    @classmethod
    def options(cls) -> dict[str, Option]:
        """Name → what the field is for and may be, in order."""
        return {f.name: f.metadata.get("option", Option()) for f in dataclasses.fields(cls)}

    @classmethod
    def usual(cls, name: str) -> Any:
        """The default of a field; None where it has none."""
        field = next(f for f in dataclasses.fields(cls) if f.name == name)
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
        return None if field.default is dataclasses.MISSING else field.default

    @classmethod
    def hints(cls) -> dict[str, Any]:
        """Name → type of each field."""
        found = get_type_hints(cls)
        return {f.name: found[f.name] for f in dataclasses.fields(cls)}

    def faults(self, prefix: str = "") -> list[str]:
        """All that is wrong with these settings by themselves, a sentence each; `prefix` goes before the names in them."""
        hints = self.hints()
        found = (o.fault(prefix + name, hints[name], getattr(self, name)) for name, o in self.options().items())
        return [fault for fault in found if fault is not None]

    def check(self) -> Self:
        """These settings. Raises ConfigurationError with every fault there is."""
        if faults := self.faults():
            raise ConfigurationError(faults)
        return self

    def as_dict(self) -> dict[str, Any]:
        """The settings by name, as plain values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def part(self, cls: type[Any], **changes: Any) -> Any:
        """The settings of another class that have the same names here, with `changes`."""
        mine = self.as_dict()
        return cls(**{**{f.name: mine[f.name] for f in dataclasses.fields(cls) if f.name in mine}, **changes})

    @classmethod
    def unknown(cls, given: Mapping[str, Any]) -> list[str]:
        """The names among `given` that are no settings of this class."""
        return sorted(set(given) - {f.name for f in dataclasses.fields(cls)})
