"""The journal of a run's stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from secateur.errors import StudyError
from secateur.study import STAGES, Journal, Store


def test_stages_in_order(store: Store) -> None:
    journal = Journal(store)
    assert journal.first_unfinished() == "warm-up"
    assert not journal.done("warm-up")
    assert journal.rows() == []
    with journal.stage("warm-up") as entry:
        entry.details["epochs"] = 1
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
    assert journal.first_unfinished() == "order"
    for stage in STAGES:
        with journal.stage(stage):
            pass
    assert journal.first_unfinished() is None
    assert [r.name for r in journal.rows()] == list(STAGES)
    assert journal.first_unfinished(("train", "measure")) == "measure"


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("loss\0 is NaN"), "ValueError: loss is NaN"), (KeyboardInterrupt(), "interrupted")]
)
def test_a_stage_that_raises_is_unfinished(store: Store, error: BaseException, reason: str) -> None:
    journal = Journal(store)

    def train() -> None:
        with journal.stage("train") as entry:
            entry.details["step"] = 7
            raise error

    with pytest.raises(type(error)):
        train()
    (row,) = journal.rows()
    assert (row.status, row.reason, row.details) == ("stopped", reason, {"step": 7})
    assert journal.first_unfinished(("train",)) == "train"
    with journal.stage("train"):
        pass
    assert journal.done("train")
    assert journal.rows()[0].reason is None


def test_survives_reopening(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store, Journal(store).stage("order"):
        pass
    with Store.open(tmp_path / "s.db") as store:
        assert Journal(store).done("order")


def test_the_stages_own_error_is_the_one_shown(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(store)

    def full() -> None:
        raise StudyError("the disk is full")

    def train() -> None:
        with journal.stage("train"):
            monkeypatch.setattr(store.database, "write", full)
            raise ValueError("the cause")

    with pytest.raises(ValueError, match="the cause"):
        train()
