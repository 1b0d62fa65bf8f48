"""What is `set` for the runs of a grid, checked before the first of them begins."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from secateur.catalogue import find
from secateur.errors import ConfigurationError
from secateur.runs.bench.cells import Cell
from secateur.runs.bench.pruning_settings import PruningSettings, parsed

#: What runs differ in that has no say in what they refuse.
APART = ("model", "data", "seed")


def check_set(s: PruningSettings, cells: Iterable[Cell]) -> None:
    """Raise ConfigurationError for values that a run would refuse, whatever its model and data, and for settings of a method
    that none of its runs uses. One of all runs may be used by some only."""
    several = {json.dumps({n: v for n, v in cell.given.items() if n not in APART}, default=str): cell.given for cell in cells}
    found: list[str] = []
    for given in several.values() if s.set else ():
        own = s.changes(given["method"])
        before = _faults({name: value for name, value in given.items() if name not in own})
        found += [f"`set`: {fault}" for fault in _faults(given) if fault not in before]
    if not found:
        found += [fault for text in s.set or () if (fault := _idle(text, list(several.values())))]
    if found:
        raise ConfigurationError(list(dict.fromkeys(found)))


def _faults(given: Mapping[str, Any]) -> list[str]:
    kind = find("run", "prune").settings
    try:
        found: list[str] = kind.made(kind.effective(given)).choice_faults()
    except ConfigurationError as error:
        return error.faults
    return found


def _idle(text: str, several: list[Mapping[str, Any]]) -> str | None:
    """Why a method's setting has no effect on any of its runs, or None where it has or there are none."""
    whose, name, value = parsed(text)
    meant = [given for given in several if given["method"] == whose and given.get(name) == value]
    kind = find("run", "prune").settings
    why = [kind.made(given).unused().get(name) for given in meant]
    return f"`{text}` has no effect: {why[0]}." if why and all(why) else None
