"""The run's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from secateur.errors import StudyError
from secateur.study import RunLog
from secateur.testing.toy_study import read_log


def test_events_are_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with RunLog(path) as log:
        log.write("trial", number=1, values={"error": 0.5}, where=Path("a"))
        (event,) = read_log(path)
        assert event.pop("time") > 1.7e9
        assert event == {"event": "trial", "number": 1, "values": {"error": 0.5}, "where": "a"}
    with RunLog(path) as log:
        log.write("end")
    assert [e["event"] for e in read_log(path)] == ["trial", "end"]


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with RunLog(path) as log:
        log.write("one")
        log.write("two")
    path.write_bytes(path.read_bytes()[:-9])
    assert [e["event"] for e in read_log(path)] == ["one"]
    with RunLog(path) as log:
        log.write("three")
    assert [e["event"] for e in read_log(path)] == ["one", "three"]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be written"):
        RunLog(tmp_path / "none" / "log.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk() -> None:
    with RunLog("/dev/full") as log, pytest.raises(StudyError, match="no space left on device"):
        log.write("event")
