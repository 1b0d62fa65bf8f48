"""Networks measured in turns: the quickest turn counts, time is bounded, and what was measured is not measured again."""

from __future__ import annotations

from typing import Any

from secateur.estimators.base import Evaluation
from secateur.estimators.turns import measure_in_turns
from secateur.spaces.decoder import architecture

A, B = (architecture("gpt2", 16, [2] * n, [32] * n) for n in (1, 2))


class Scripted:
    """Gives the latencies of a script, or fails."""

    def __init__(self, script: dict[str, list[Any]]) -> None:
        self.script = script
        self.asked: list[str] = []

    def evaluate(self, architectures: Any) -> list[Evaluation]:
        key = architectures[0].key
        self.asked.append(key)
        value = self.script[key].pop(0)
        if isinstance(value, str):
            return [Evaluation(failure=value)]
        return [Evaluation({"latency": value}, details={"turn": value})]


def run(script: dict[str, list[Any]], found: Any = None, **options: Any) -> tuple[Scripted, Any, list[Any]]:
    estimator, saved = Scripted(script), []
    steps: list[Any] = []
    given = {"turns": 3, "seconds": 100.0, **options}
    found = measure_in_turns(
        estimator,  # type: ignore[arg-type]
        [A, B],
        found={} if found is None else found,
        save=lambda f: saved.append(len(f)),
        advance=lambda done, total: steps.append((done, total)),
        **given,
    )
    assert steps[-1] == (6, 6)
    assert len(saved) == len(estimator.asked)
    return estimator, found, steps


def test_the_quickest_turn_counts_and_turns_alternate() -> None:
    estimator, found, _ = run({A.key: [3.0, 1.0, 2.0], B.key: [5.0, 6.0, 4.0]})
    assert estimator.asked == [A.key, B.key] * 3
    assert found[A.key]["values"] == {"latency": 1.0}
    assert found[A.key]["details"] == {"turn": 1.0}
    assert found[B.key]["values"] == {"latency": 4.0}
    assert found[B.key]["turns"] == 3


def test_what_was_measured_is_not_measured_again() -> None:
    before = {A.key: {"turns": 2, "seconds": 1.0, "values": {"latency": 2.5}, "details": {}}}
    estimator, found, _ = run({A.key: [9.0], B.key: [1.0, 1.0, 1.0]}, before)
    assert estimator.asked.count(A.key) == 1
    assert found[A.key]["values"] == {"latency": 2.5}


def test_a_failure_ends_a_networks_turns() -> None:
    estimator, found, _ = run({A.key: ["out of memory"], B.key: [1.0, 2.0, 3.0]})
    assert estimator.asked.count(A.key) == 1
    assert found[A.key]["failure"] == "out of memory"


def test_what_is_not_wanted_is_not_measured() -> None:
    estimator, found, _ = run({A.key: [1.0] * 3, B.key: []}, wanted=lambda a, found: a == A and len(found) < 2)
    assert estimator.asked == [A.key] * 3
    assert B.key not in found


def test_no_more_than_the_seconds_are_spent() -> None:
    estimator, _, _ = run({A.key: [1.0], B.key: [1.0]}, seconds=1e-9)
    assert estimator.asked == [A.key, B.key]
