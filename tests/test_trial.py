"""The trial: one value from the proposal to the report."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from secateur.architecture import Architecture
from secateur.trial import ASKED, Status, Trial, level

ARCHITECTURE = Architecture.of("toy", {"heads": 2}, "key")


def test_a_trial_is_complete_unless_it_says_otherwise() -> None:
    trial = Trial(0, ARCHITECTURE)
    assert trial.complete
    assert (trial.status, trial.origin, trial.values, trial.curve) == ("complete", ASKED, {}, ())
    assert [replace(trial, status=s).complete for s in Status] == [False, True, False, False]
    assert not replace(trial, status="failed").complete


def test_what_is_evaluated_once_is_an_architecture_at_a_budget() -> None:
    assert Trial(0, ARCHITECTURE).key == "key"
    assert Trial(0, ARCHITECTURE).point == ("key", None)
    assert Trial(0, ARCHITECTURE, budget=3.0).point == Trial(None, ARCHITECTURE, "failed", budget=3.0).point == ("key", 3.0)


def test_it_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        Trial(0, ARCHITECTURE).status = "failed"  # type: ignore[misc]


def test_statuses_are_text() -> None:
    assert [str(s) for s in Status] == ["running", "complete", "infeasible", "failed"]
    assert Status("failed") is Status.FAILED
    assert Trial(0, ARCHITECTURE, Status.FAILED) == Trial(0, ARCHITECTURE, "failed")


def test_all_that_may_be_spent_is_the_largest_budget() -> None:
    assert sorted([None, 3.0, 0.5], key=level) == [0.5, 3.0, None]
