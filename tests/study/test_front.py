"""The front and what is chosen from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.architecture import Architecture
from secateur.errors import BoundError, ConfigurationError, UnknownNameError
from secateur.objectives import Bound, Objective
from secateur.pareto import dominates
from secateur.study import Front, Member
from secateur.trial import Trial

OBJECTIVES = (Objective("error"), Objective("parameters"))
UNPRUNED = {"error": 0.1, "parameters": 1000.0, "body_parameters": 800.0}


def trial(number: int, error: float, parameters: float, key: str | None = None, **options: Any) -> Trial:
    architecture = Architecture.of("toy", {"number": number}, key or f"key{number}")
    values = {"error": error, "parameters": parameters, "body_parameters": parameters - 200}
    status, values = options.pop("status", "complete"), options.pop("values", values)
    return Trial(number, architecture, status, values, number=number, **options)


TRIALS = [
    trial(0, 0.10, 1000),
    trial(1, 0.20, 600),
    trial(2, 0.40, 300),
    trial(3, 0.25, 700),  # dominated by 1
    trial(4, 0.20, 600),  # the same point as 1
    trial(5, 0.0, 1, status="failed"),
    trial(6, 0.0, 1, status="infeasible"),
    trial(7, 0.0, 1, origin="polish"),
    trial(8, 0.0, 1, values={"parameters": 1.0}),
    trial(9, float("-inf"), 1),
    trial(10, float("nan"), float("nan")),
]


def numbers(front: Front[Any]) -> list[int]:
    return [getattr(m, "trial", m).number for m in front]


def test_the_front_of_a_study() -> None:
    front = Front.of(TRIALS, OBJECTIVES, UNPRUNED)
    assert numbers(front) == [2, 1, 0]
    assert len(front) == 3
    assert front[0].values["parameters"] == 300
    assert len(front.pool) == 5
    assert numbers(Front.of(TRIALS, OBJECTIVES[:1], UNPRUNED)) == [0]


def test_larger_is_better_where_the_objective_says_so() -> None:
    front = Front.of(TRIALS[:3], [Objective("error"), Objective("parameters", "max")], UNPRUNED)
    assert numbers(front) == [0]


def test_only_equal_budgets_compare() -> None:
    trials = [
        trial(0, 0.01, 10, "a", budget=1.0),
        trial(1, 0.5, 10, "a", budget=9.0),
        trial(2, 0.2, 10, "a", budget=3.0),
        trial(3, 0.001, 1, "b", budget=1.0),  # better in all, and another network: still another budget
        trial(4, 0.4, 20, "c", budget=9.0),
        trial(5, 0.0, 1, "d", budget=27.0, status="failed"),
    ]
    front = Front.of(trials, OBJECTIVES, UNPRUNED)
    assert numbers(front) == [1, 4]
    assert {t.budget for t in front.pool} == {9.0}
    assert front.best(under={"body_parameters": 0}).number == 4
    assert numbers(Front.of(trials, OBJECTIVES, UNPRUNED, budget=1.0)) == [3]
    assert numbers(Front.of(trials, OBJECTIVES, UNPRUNED, budget=3.0)) == [2]
    assert numbers(Front.of(trials, OBJECTIVES, UNPRUNED, budget=2.0)) == []
    # Where nobody chose a budget, all of it was spent.
    assert numbers(Front.of([*trials, trial(6, 0.9, 99, "e")], OBJECTIVES, UNPRUNED)) == [6]


def test_of_equal_keys_and_budgets_the_last_stays() -> None:
    trials = [trial(0, 0.1, 10, "a"), trial(1, 0.3, 10, "a"), trial(2, 0.2, 20, "b")]
    assert numbers(Front.of(trials, OBJECTIVES, UNPRUNED)) == [1, 2]


def test_best_under_bounds() -> None:
    front = Front.of(TRIALS, OBJECTIVES, UNPRUNED)

    def best(**under: Any) -> int | None:
        return front.best(under=under).number

    assert best() == 0
    assert best(parameters="60%") == 1
    assert best(parameters=599) == 2
    assert best(body_parameters="50%") == 1  # 400 of 800, met exactly; no objective: all complete trials are searched
    assert best(body_parameters="49%", parameters="60%") == 2
    assert best(parameters=Bound(0.6, relative=True)) == 1
    assert best(error=0.3, parameters="100%") == 0


def test_a_quantity_that_is_no_objective_is_sought_among_all_trials() -> None:
    slow = trial(0, 0.1, 500, values={"error": 0.1, "parameters": 500.0, "latency": 2.0})
    fast = trial(1, 0.2, 600, values={"error": 0.2, "parameters": 600.0, "latency": 1.0})
    front = Front.of([slow, fast], OBJECTIVES, UNPRUNED)
    assert numbers(front) == [0]
    assert front.best(under={"latency": "1s"}) == fast
    with pytest.raises(ConfigurationError, match="there is none: give a number"):
        front.best(under={"latency": "50%"})
    with pytest.raises(BoundError, match=r"`latency` ≤ 20ms\. The nearest has latency 1,000 ms: "):
        front.best(under={"latency": "20ms"})
    with pytest.raises(UnknownNameError, match=r"unknown quantity `lateny`\. Did you mean `latency`"):
        front.best(under={"lateny": "20ms"})


def test_bounds_that_nothing_meets() -> None:
    front = Front.of(TRIALS, OBJECTIVES, UNPRUNED)
    with pytest.raises(
        BoundError, match=r"nothing that was found has `body_parameters` ≤ 5%. The nearest has body_parameters 100 \(12.5%\)"
    ):
        front.best(under={"body_parameters": "5%"})
    nearest = r"`error` ≤ 0.05 and `parameters` ≤ 90%. The nearest has error 0.1 \(100%\), parameters 1,000"
    with pytest.raises(BoundError, match=nearest):
        front.best(under={"error": 0.05, "parameters": "90%"})
    with pytest.raises(BoundError, match="no complete trial yet"):
        Front.of([], OBJECTIVES, UNPRUNED).best()
    apart = [
        trial(0, 0.1, 1, values={"error": 0.1, "parameters": 1.0, "latency": 1.0}),
        trial(1, 0.1, 1, values={"error": 0.1, "parameters": 1.0, "memory": 1.0}),
    ]
    with pytest.raises(BoundError, match="no complete trial has a value for each of `latency`, `memory`"):
        Front.of(apart, OBJECTIVES, UNPRUNED).best(under={"latency": 5, "memory": 5})


def test_bad_names_and_bounds() -> None:
    front = Front.of(TRIALS, OBJECTIVES, UNPRUNED)
    with pytest.raises(UnknownNameError, match=r"unknown quantity `body_parameter`. Did you mean `body_parameters`"):
        front.best(under={"body_parameter": "50%"})
    with pytest.raises(ConfigurationError, match="is not a bound"):
        front.best(under={"parameters": "half"})
    with pytest.raises(ConfigurationError, match="at least one objective"):
        Front([], [], {})
    with pytest.raises(ConfigurationError, match="no value for `parameters`"):
        front.hypervolume({"error": 1.0})


def test_hypervolume() -> None:
    front = Front.of(TRIALS, OBJECTIVES, UNPRUNED)
    # boxes up to (1, 1000): 0.6 × 700 by trial 2, and 0.2 × 400 more by trial 1; trial 0 lies on the edge
    assert front.hypervolume({"error": 1.0, "parameters": 1000.0}) == pytest.approx(0.6 * 700 + 0.2 * 400)
    assert front.reference() == pytest.approx({"error": 0.43, "parameters": 1070.0})
    # strips of error: 0.03 wide where trial 2 leads, then 0.2 wide for trial 1, then 0.1 for trial 0
    assert front.hypervolume() == pytest.approx(0.03 * 770 + 0.2 * 470 + 0.1 * 70)
    assert Front.of([], OBJECTIVES, {}).hypervolume() == 0.0


def test_table() -> None:
    rows = Front.of(TRIALS, OBJECTIVES, UNPRUNED).table()
    assert rows[0] == {
        "trial": 2,
        "architecture": "toy(number=2)",
        "key": "key2",
        "error": 0.4,
        "parameters": 300,
        "body_parameters": 100,
        "parameters_share": 0.3,
        "body_parameters_share": 0.125,
    }
    alone = Front([Member(replace(TRIALS[0], number=None))], OBJECTIVES, {})
    assert alone.table()[0]["trial"] is None
    assert "parameters_share" not in alone.table()[0]


@dataclass(frozen=True)
class Loud(Member):
    def shout(self) -> str:
        return self.architecture.key.upper()


def test_members_can_be_wrapped() -> None:
    front = Front.of(TRIALS, OBJECTIVES, UNPRUNED)
    loud = front.map(Loud)
    assert numbers(loud) == numbers(front)
    assert len(loud.pool) == len(front.pool)
    assert loud.best(under={"body_parameters": "50%"}).shout() == "KEY1"


values = st.floats(0, 10).map(lambda v: round(v, 1))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(values, values), max_size=12))
def test_the_front_is_what_nothing_dominates(points: list[tuple[float, float]]) -> None:
    trials = [trial(i, error, cost) for i, (error, cost) in enumerate(points)]
    front = Front.of(trials, OBJECTIVES, UNPRUNED)
    got = [(m.values["error"], m.values["parameters"]) for m in front]
    arrays = [np.array(p) for p in points]
    wanted = {p for p, a in zip(points, arrays, strict=True) if not any(dominates(b, a) for b in arrays)}
    assert sorted(got) == sorted(wanted)
    assert [p[1] for p in got] == sorted(p[1] for p in got)
    for limit in {p[1] for p in points}:
        assert front.best(under={"parameters": limit}).values["error"] == min(e for e, c in points if c <= limit)


@dataclass(frozen=True)
class Lucky:
    """A candidate that may be no better than chance."""

    architecture: Architecture
    values: dict[str, float]
    luck: int = 0


def test_what_answers_by_luck_is_chosen_last() -> None:
    """The constant has the least error and dominates what has not learned yet, which is chosen all the same."""

    def member(number: int, error: float, parameters: float, luck: int) -> Lucky:
        return Lucky(Architecture.of("toy", {"number": number}, str(number)), {"error": error, "parameters": parameters}, luck)

    constant, small, large = member(0, 0.5, 0, 2), member(1, 0.55, 50, 1), member(2, 0.6, 90, 0)
    found = Front([constant, small, large], OBJECTIVES, UNPRUNED)
    assert found.members == (constant,)
    assert found.best(under={"parameters": 100}) is large
    assert found.best(under={"parameters": 60}) is small
    assert found.best(under={"parameters": 10}) is constant
