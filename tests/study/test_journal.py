"""The journal of a run's stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from secateur.errors import StudyError
from secateur.study import Journal, Store, create_store, open_store


def test_stages_in_order(store: Store) -> None:
    journal = Journal(store)
    assert not journal.done("warm-up")
    assert journal.rows() == []
    with journal.stage("warm-up") as details:
        details["epochs"] = 1
        (running,) = Journal(store).rows()
        assert running.status == "running"
        assert running.seconds is None
        assert not journal.done("warm-up")
    (row,) = journal.rows()
    assert row.status == "done"
    assert row.details == {"epochs": 1}
    assert row.seconds is not None
    assert row.seconds >= 0
    assert journal.done("warm-up")
    assert not journal.done("order")
    for stage in ("order", "warm-up", "train"):
        with journal.stage(stage):
            pass
    assert [(r.name, r.status) for r in journal.rows()] == [("warm-up", "done"), ("order", "done"), ("train", "done")]


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("loss\0 is NaN"), "ValueError: loss is NaN"), (KeyboardInterrupt(), "interrupted")]
)
def test_a_stage_that_raises_is_unfinished(store: Store, error: BaseException, reason: str) -> None:
    journal = Journal(store)

    def train() -> None:
        with journal.stage("train") as details:
            details["step"] = 7
            raise error

    with pytest.raises(type(error)):
        train()
    (row,) = journal.rows()
    assert (row.status, row.reason, row.details) == ("stopped", reason, {"step": 7})
    assert not journal.done("train")
    with journal.stage("train"):
        pass
    assert journal.done("train")
    assert journal.rows()[0].reason is None


def test_survives_reopening(tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db") as store, Journal(store).stage("order"):
        pass
    with open_store(tmp_path / "s.db") as store:
        assert Journal(store).done("order")


def test_the_stages_own_error_is_the_one_shown(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(store)

    def full(row: object) -> None:
        raise StudyError("the disk is full")

    def train() -> None:
        with journal.stage("train"):
            monkeypatch.setattr(store, "write_stage", full)
            raise ValueError("the cause")

    with pytest.raises(ValueError, match="the cause"):
        train()
