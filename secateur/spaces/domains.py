"""Ranges of whole numbers: what one dimension of a space may be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from secateur.errors import ConfigurationError
from secateur.settings import shown


@dataclass(frozen=True)
class Range:
    """low, low + step, … up to high, all included."""

    low: int
    high: int
    step: int = 1

    def __post_init__(self) -> None:
        if self.step < 1:
            raise ConfigurationError(f"a step must be at least 1, got {self.step}.")
        if self.high < self.low:
            raise ConfigurationError(f"the range {self.low}..{self.high} is empty: it ends before it starts.")
        if (self.high - self.low) % self.step:  # the last value is the last one that a step reaches
            object.__setattr__(self, "high", self.high - (self.high - self.low) % self.step)

    @classmethod
    def parse(cls, text: str | Range, name: str, full: int | None) -> Range:
        """`4..12`, `4..12:2` (steps of 2), `..8`, `4..`, `8` (just 8), `:64` (0 to the model's own size in steps of 64).

        `full` is the model's own size: the end where none is given, and the largest end allowed. None where there is no model:
        then a range names both of its ends.
        """
        if isinstance(text, Range):
            found = text
        else:
            match = re.fullmatch(r"\s*(?:(\d*)\s*(\.\.)\s*(\d*)|(\d+))?\s*(?::\s*(\d+))?\s*", text)
            if match is None or not text.strip():
                raise ConfigurationError(f"`{name}` must look like 4..12, 4..12:2 or :64, got `{text}`.")
            low, _, high, only, step = match.groups()
            if any(len(part or "") > 12 for part in (low, high, only, step)):
                raise ConfigurationError(f"`{name}` contains a number with more than 12 digits.")
            if only is not None:
                low = high = only
            if full is None and not (low and high):
                raise ConfigurationError(f"`{name}` must name both ends, as in 4..12 or 4..12:2, got `{text}`.")
            found = cls(int(low or 0), int(high or full or 0), int(step or 1))
        if full is not None and (found.low < 0 or found.high > full):
            raise ConfigurationError(f"`{name}` must lie in 0..{full} for this model, got {found.low}..{found.high}.")
        return found

    def __len__(self) -> int:
        return (self.high - self.low) // self.step + 1

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.low <= value <= self.high and (value - self.low) % self.step == 0

    def __str__(self) -> str:
        return f"{self.low}..{self.high}" + (f":{self.step}" if self.step > 1 else "")

    def members(self) -> tuple[int, ...]:
        """Every value, ascending."""
        return tuple(range(self.low, self.high + 1, self.step))


Options = str | int | Range | Iterable[int]


#: The most values of one dimension: tables of pairs of them are kept.
MOST_VALUES = 1_000


def options(given: Options, name: str, least: int = 1, most: int = 10**6) -> tuple[int, ...]:
    """A set of whole numbers from `least` to `most`, ascending, each once: `2,4,8`, `128..1024:64`, a Range, a number, a list.

    Raises ConfigurationError for others, and for more than `MOST_VALUES` of them.
    """
    if isinstance(given, str) and "," not in given:
        given = Range.parse(given, name, None)
    if isinstance(given, Range):
        if len(given) > MOST_VALUES:
            raise ConfigurationError(
                f"`{name}` has {len(given):,} values, but at most {MOST_VALUES:,} are allowed: give a step, as in 128..1024:64."
            )
        found: tuple[int, ...] = given.members()
    elif isinstance(given, str):
        parts = [part.strip() for part in given.split(",")]
        if not all(re.fullmatch(r"\d{1,12}", part) for part in parts):
            raise ConfigurationError(f"`{name}` must look like 2,4,8 or 2..8:2, got `{given}`.")
        found = tuple(map(int, parts))
    else:
        found = (given,) if isinstance(given, int) else tuple(given)
    if not found:
        raise ConfigurationError(f"`{name}` is empty: give at least one value.")
    whole = [v for v in found if isinstance(v, int) and not isinstance(v, bool) and least <= v <= most]
    if len(whole) < len(found):
        wrong = next(v for v in found if v not in whole)
        raise ConfigurationError(f"`{name}` must be whole numbers from {least} to {most:,}, got {shown(wrong)}.")
    if len(found) > MOST_VALUES:
        raise ConfigurationError(f"`{name}` has {len(found):,} values, but at most {MOST_VALUES:,} are allowed.")
    return tuple(sorted(set(found)))
