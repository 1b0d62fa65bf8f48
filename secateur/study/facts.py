"""What runs keep in their study beside trials, by name, and of what type each is: whatever else stands there is damage."""

from __future__ import annotations

from typing import Any, TypedDict

Numbers = dict[str, float]


class _Scores(TypedDict):
    error: float


class _Whole(_Scores):
    parameters: float
    body_parameters: float


class _Chance(TypedDict):
    validation: _Scores
    test: _Scores


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


class _Form(TypedDict):
    name: str
    bytes: int
    score: float | None
    latency: float | None
    memory: float | None


class _Forms(TypedDict):
    forms: list[_Form]
    metric: str
    unscored: str
    timed: str
    notes: list[str]
    unpruned: float | None


class _Baseline(TypedDict):
    name: str
    family: str
    layers: int
    values: Numbers


class _Network(TypedDict):
    network: str
    key: str
    values: Numbers


class _Moment(TypedDict):
    title: str
    text: str
    at: float
    host: str
    run_left: float | None
    losses: list[list[float]]


#: Name → type, or several where a fact must be of each.
FACTS: dict[str, Any] = {
    "settings": dict[str, Any],
    "data": str,
    "device": str,
    "task": _Task,
    "shape": _Shape | None,
    "own": bool,
    "chance": (dict[str, Numbers] | None, _Chance | None),
    "unpruned": (Numbers, _Whole),
    "unpruned_test": (Numbers | None, _Scores | None),
    "tests": (dict[str, Numbers], dict[str, _Scores]),
    "polishing": Numbers,
    "measured": dict[str, Numbers],
    "formats": dict[str, _Forms],
    "notes": list[str],
    "timed": dict[str, dict[str, Any]],
    "timed_later": dict[str, dict[str, Any]],
    "later": dict[str, Numbers],
    "baselines": list[_Baseline],
    "networks": list[_Network],
    "network_tests": dict[str, Numbers],
    "importance": dict[str, list[Any]],
    "latency_model": dict[str, Any] | None,
    "progress": _Moment | None,
}
