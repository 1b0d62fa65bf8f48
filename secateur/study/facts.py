"""What runs keep in their study beside trials, by name, and of what type each is: whatever else stands there is damage."""

from __future__ import annotations

from typing import Any, TypedDict

Numbers = dict[str, float]


class _Error(TypedDict):
    error: float


class _Chance(TypedDict):
    validation: _Error
    test: _Error


class _Shape(TypedDict):
    layers: int
    heads: int
    units: int


class _Task(TypedDict):
    name: str
    kind: str
    main: str
    metrics: list[str]
    sizes: dict[str, int]


class _Baseline(TypedDict):
    name: str
    family: str
    layers: int
    values: Numbers


FACTS: dict[str, Any] = {
    "settings": dict[str, Any],
    "data": str,
    "device": str,
    "task": _Task,
    "shape": _Shape | None,
    "chance": _Chance | None,
    "unpruned": Numbers,
    "unpruned_test": _Error | None,
    "tests": dict[str, _Error],
    "measured": dict[str, Numbers],
    "notes": list[str],
    "timed": dict[str, dict[str, Any]],
    "baselines": list[_Baseline],
    "latency_model": dict[str, Any] | None,
    "progress": dict[str, Any] | None,
}
