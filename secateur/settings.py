"""Settings: frozen dataclasses whose fields say what they are for and what they may be.

Each is written once. The signature of a verb, its command line, the run's config file and the checks all come from here.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Self, Union, get_args, get_origin, get_type_hints, is_typeddict

from secateur.errors import ConfigurationError, UnknownNameError

#: Beyond these a size is a slip of the pen: a batch, the tokens of a text, the examples of a data set, the trials of a search.
MOST_BATCH, MOST_TOKENS, MOST_EXAMPLES, MOST_TRIALS = 65_536, 1_000_000, 10**9, 1_000_000
#: Seconds in a day: no measurement may take longer.
DAY = 86_400
#: Threads or processes at work at once. Thousands would end the process before an error could be raised.
MOST_THREADS = max(64, 4 * (os.cpu_count() or 1))


@dataclass(frozen=True)
class Option:
    """What a setting is for (`about`, `panel` of the help, `flag` on the command line, or several) and what it may be.

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
        if value is None and None in _words(hint):
            return None
        several = list(value) if isinstance(value, list | tuple) else [value]
        unknown = [v for v in several if self.known is not None and v not in self.known]
        if unknown:
            return UnknownNameError(name.replace("_", " "), shown(unknown[0]).strip("'"), self.known or ()).faults[0]
        if not fits(value, hint):
            kinds = " or ".join(words for words in _words(hint) if words)
            return f"`{name}` must be {kinds}, got {shown(value)}."
        numbers = [v for v in several if isinstance(v, int | float) and not isinstance(v, bool)]
        return next((said for v in numbers if (said := self._number_fault(name, v)) is not None), None)

    def _number_fault(self, name: str, value: float) -> str | None:
        if isinstance(value, float) and not math.isfinite(value):
            return f"`{name}` must be a finite number, got {value!r}."
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
        return f"`{name}` must be {said}, got {shown(value)}."


#: Types of fields in the words of a message; of a list, what is in it.
_SAID = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text", Path: "a path", NoneType: None}
_LISTED = {int: "whole numbers", float: "numbers", str: "texts"}


def _kinds(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _words(hint: Any) -> list[str | None]:
    """What a field may be, in words; None among them where it may be left out."""
    lists = {kind: f"a list of {_LISTED[get_args(kind)[0]]}" for kind in _kinds(hint) if get_origin(kind) in (list, tuple)}
    return [lists[kind] if kind in lists else _SAID.get(kind, "a mapping") for kind in _kinds(hint)]


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type. A text may stand for a path, a whole number for any; true and false for none."""
    return any(_is(value, kind) for kind in _kinds(hint))


def _is(value: Any, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (list, tuple):
        return isinstance(value, list | tuple) and all(fits(v, inner[0]) for v in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(v, inner[1]) for v in value.values())
    if is_typeddict(kind):
        return isinstance(value, dict) and all(n in value and fits(value[n], h) for n, h in get_type_hints(kind).items())
    if kind is Any or isinstance(value, bool):
        return kind in (bool, Any)
    return isinstance(value, {float: int | float, Path: str | Path}.get(kind, origin or kind))


def shown(value: Any) -> str:
    """A value as messages show it, cut where it is long. Python refuses to write numbers of thousands of digits."""
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a number of more than 30 digits"
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"


def default_said(value: Any) -> str:
    """A default as help shows it, also where a preset may set it. Nothing where there is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


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
        faults = self.field_faults(prefix)
        typed = all(fits(getattr(self, name), hint) for name, hint in self.hints().items())
        return [*faults, *(fault for fault in self.contradictions() if fault not in faults)] if typed else faults

    def field_faults(self, prefix: str = "") -> list[str]:
        """What is wrong with each field by itself: its type, its range."""
        hints = self.hints()
        found = (o.fault(prefix + name, hints[name], getattr(self, name)) for name, o in self.options().items())
        return [fault for fault in found if fault is not None]

    def sound(self, *names: str) -> bool:
        """Whether these fields are right by themselves; what is not has been said, and need not be said in other words."""
        hints, options = self.hints(), self.options()
        return all(options[name].fault(name, hints[name], getattr(self, name)) is None for name in names)

    def type_faults(self) -> list[str]:
        """Which fields are not of their type."""
        found = (Option().fault(name, hint, getattr(self, name)) for name, hint in self.hints().items())
        return [fault for fault in found if fault is not None]

    @classmethod
    def required(cls) -> list[str]:
        """The fields that have no default."""
        missing = dataclasses.MISSING
        return [f.name for f in dataclasses.fields(cls) if f.default is missing and f.default_factory is missing]

    def contradictions(self) -> list[str]:
        """Hook: what is wrong beyond each field's own rules. Asked where every field is of its type."""
        return []

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
