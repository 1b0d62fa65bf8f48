"""Bounds that nothing meets: what is said."""

from __future__ import annotations

import pytest

from secateur.architecture import Architecture
from secateur.errors import BoundError
from secateur.objectives import Objective
from secateur.runs.bounds import check_bounds, nothing_found
from secateur.trial import Status, Trial

UNPRUNED = {"parameters": 1000.0}
ARCHITECTURE = Architecture("toy", {"x": 1}, "key")


def asked(*texts: str) -> list[tuple[Objective, str]]:
    return [(Objective.parse(text), text) for text in texts]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parameters<=10%", r"nothing in the space `toy` meets `parameters<=10%`: its smallest .* has parameters 200 \(20%\)"),
        ("parameters<=0.1k", r"its smallest network has parameters 200 \(20%\)\. Relax the bound, or widen the ranges"),
        ("parameters>=90%", r"its largest network has parameters 800 \(80%\)"),
    ],
)
def test_a_bound_beyond_the_space(text: str, said: str) -> None:
    with pytest.raises(BoundError, match=said):
        check_bounds("toy", asked("macs", text), {"parameters": 200.0}, {"parameters": 800.0}, UNPRUNED)


def test_bounds_within_the_space_and_of_what_is_not_known_pass() -> None:
    within = asked("parameters>=20%<=80%", "latency<=1us")
    check_bounds("toy", within, {"parameters": 200.0}, {"parameters": 800.0}, UNPRUNED)


def trial(status: Status = Status.INFEASIBLE, reason: str | None = None, **values: float) -> Trial:
    return Trial(0, ARCHITECTURE, status, values=values, reason=reason)


def test_the_nearest_is_named() -> None:
    trials = [trial(parameters=900.0), trial(parameters=600.0), trial(Status.COMPLETE, parameters=400.0)]
    said = nothing_found(trials, asked("macs", "parameters<=500"), 3, UNPRUNED)
    assert said is not None
    assert said.startswith("none of 3 trials met `parameters<=500`. The nearest had parameters 600 (60%).")
    below = nothing_found([trial(parameters=100.0), trial(parameters=300.0)], asked("parameters>=500"), 2, {})
    assert below is not None
    assert "The nearest had parameters 300. " in below


def test_without_a_broken_bound_the_last_reason_is_said() -> None:
    failed = [trial(Status.FAILED, "no memory"), trial(Status.FAILED, "no time")]
    assert nothing_found(failed, asked("macs"), 2, {}) == "none of 2 trials could be evaluated: no time."
    assert nothing_found([], asked("macs"), 2, {}) is None
