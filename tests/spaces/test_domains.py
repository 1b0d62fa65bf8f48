from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.errors import ConfigurationError
from secateur.spaces.domains import Range


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4..12", Range(4, 12)),
        ("4..12:2", Range(4, 12, 2)),
        ("4..11:4", Range(4, 8, 4)),
        ("..8", Range(0, 8)),
        ("4..", Range(4, 12)),
        ("..", Range(0, 12)),
        (":4", Range(0, 12, 4)),
        ("8", Range(8, 8)),
        ("..0", Range(0, 0)),
        ("0", Range(0, 0)),
        (" 1 .. 3 : 2 ", Range(1, 3, 2)),
        (Range(2, 3), Range(2, 3)),
    ],
)
def test_ranges_are_read(text: str | Range, expected: Range) -> None:
    assert Range.parse(text, "heads", 12) == expected


@pytest.mark.parametrize("text", ["", " ", "four", "1...3", "1..2..3", "-1..3", "1.5"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"`heads` must look like 4\.\.12"):
        Range.parse(text, "heads", 12)


@pytest.mark.parametrize("text", ["4..16", "16", Range(-1, 3)])
def test_ranges_stay_within_the_model(text: str | Range) -> None:
    with pytest.raises(ConfigurationError, match=r"`heads` must lie in 0..12 for this model, got"):
        Range.parse(text, "heads", 12)


def test_empty_ranges_and_steps_below_one() -> None:
    with pytest.raises(ConfigurationError, match=r"the range 5\.\.4 is empty"):
        Range.parse("5..4", "heads", 12)
    with pytest.raises(ConfigurationError, match="a step must be at least 1, got 0"):
        Range.parse("1..4:0", "heads", 12)


@settings(deadline=None)
@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 7))
def test_a_range_is_its_members(low: int, width: int, step: int) -> None:
    found = Range(low, low + width, step)
    members = list(range(low, low + width + 1, step))
    assert len(found) == len(members)
    assert found.high == members[-1]
    assert [v for v in range(-5, 50) if v in found] == members
    assert Range.parse(str(found), "heads", 100) == found
