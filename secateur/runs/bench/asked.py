"""What the benches check of what they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from secateur.errors import ConfigurationError


def faults(readings: Iterable[Callable[[], Any]]) -> list[str]:
    """What is wrong with texts, each read by one call that raises ConfigurationError."""
    found: list[str] = []
    for read in readings:
        try:
            read()
        except ConfigurationError as error:
            found += error.faults
    return found


def no_table(named: Sequence[str]) -> list[str]:
    """The fault of naming no table."""
    return [] if named else ["`table` names no table: give --table."]


def whole_numbers(name: str, given: str | Sequence[int], example: str) -> list[int]:
    """The numbers of `50,100` or of a list, each once, ascending. Raises ConfigurationError."""
    try:
        return sorted({int(part) for part in (given.split(",") if isinstance(given, str) else given)})
    except ValueError:
        raise ConfigurationError(f"`{name}` must be whole numbers such as {example}, got {given!r}.") from None
