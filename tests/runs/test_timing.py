"""The time left, on a clock that the test turns."""

from __future__ import annotations

import pytest

from secateur.runs.timing import Effort, TimeLeft, about, clock_text


class Clock:
    """Seconds that pass when told so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_run_is_extrapolated_from_the_paces_so_far():
    clock = Clock()
    left = TimeLeft({"train": Effort(1000), "search": Effort(500), "report": Effort(100, seconds=7)}, clock)
    left.begin("train")
    assert left.of_run is None  # nothing is measured yet
    for step in (1, 2, 3, 4, 5):
        clock.now += 2
        left.reach(step / 10)
    # 2 s a step: 10 s are left; 0.02 s a pass: 10 s of search, 2 + 7 s of report
    assert left.of_stage == pytest.approx(10)
    assert left.of_run == pytest.approx(10 + 10 + 9)
    clock.now += 10
    left.reach(1.0)
    left.end()
    left.begin("search")  # before it has a pace of its own it is expected to take what training's says
    assert left.of_stage == pytest.approx(10)
    assert left.of_run == pytest.approx(19)
    left.reach(0.1)
    clock.now += 4
    left.reach(0.2)  # and then twice as slow as expected: 40 s in all
    assert left.of_stage == pytest.approx(32)
    assert left.of_run == pytest.approx(32 + 100 * (20 + 40) / (1000 + 500) + 7)


def test_a_resumed_stage_counts_only_what_is_done_now():
    clock = Clock()
    left = TimeLeft({"train": Effort(1000)}, clock)
    left.begin("train")
    clock.now += 60  # loading a checkpoint
    left.reach(0.80)
    clock.now += 1
    left.reach(0.81)
    assert left.of_stage == left.of_run == pytest.approx(19)


def test_a_stage_nobody_knows_leaves_the_run_open():
    clock = Clock()
    left = TimeLeft({"fit": Effort(seconds=10), "own": None}, clock)
    left.begin("fit")
    left.reach(0.0)
    clock.now += 1
    left.reach(0.5)
    assert left.of_stage == pytest.approx(1)
    assert left.of_run is None
    left.end()
    left.begin("own")
    left.reach(0.5)
    assert (left.of_stage, left.of_run) == (None, None)


@pytest.mark.parametrize(
    ("seconds", "short", "long"),
    [
        (0, "0:00", "5 s"),
        (38, "0:38", "40 s"),
        (70, "1:10", "1 min"),
        (355, "5:55", "6 min"),
        (4800, "1:20:00", "1 h 20 min"),
        (50_000, "13:53:20", "13 h"),
    ],
)
def test_durations_in_words(seconds, short, long):
    assert clock_text(seconds) == short
    assert about(seconds) == long
