from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateur.report.numbers import SPACE, detail, show, with_unit


@pytest.mark.parametrize(
    ("value", "how", "text"),
    [
        (1_234_567, "count", "1.23 M"),
        (22_713_216, "count", "22.7 M"),
        (999_600, "count", "1.00 M"),
        (999, "count", "999"),
        (0, "count", "0"),
        (1.36e9, "count", "1.36 G"),
        (0.0123, "seconds", "12.3 ms"),
        (4.92e-7, "seconds", "492 ns"),
        (4e-11, "seconds", "4e-11 s"),
        (2.5e-5, "seconds", "25.0 µs"),
        (43.0, "seconds", "43.0 s"),
        (83.2, "seconds", "1 min 23 s"),
        (59.97, "seconds", "1 min 0 s"),
        (3599.9, "seconds", "1 h 0 min"),
        (3725, "seconds", "1 h 2 min"),
        (0.0, "seconds", "0 s"),
        (90_900_000, "bytes", "90.9 MB"),
        (12, "bytes", "12 B"),
        (0.453, "share", "45.3 %"),
        (0.85344, "score", "0.8534"),
        (12345, "integer", "12,345"),
        ("a", "text", "a"),
        ("100 %", "share", "100 %"),
        (None, "score", "–"),
        (math.nan, "count", "–"),
        (math.inf, "share", "–"),
    ],
)
def test_numbers_read_as_people_write_them(value, how, text):
    assert show(value, how).replace(SPACE, " ") == text


@given(st.floats(1e3, 9e14))
def test_a_count_is_within_half_a_percent(value):
    number, prefix = show(value, "count").split(SPACE)
    assert float(number) * {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[prefix] == pytest.approx(value, rel=0.0051)
    assert 1 <= float(number) <= 999


def test_values_in_messages_have_their_units():
    shown = [("latency", 0.0123), ("memory", 16368.0), ("parameters", 1234567.0), ("snip", 0.01234567), ("error", 0.25)]
    said = ["latency 12.3 ms", "memory 16.4 kB", "parameters 1,234,567", "snip 0.0123457", "error 0.25"]
    assert [with_unit(*pair) for pair in shown] == said


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("latency_low", 0.0123, "12.3 ms"),
        ("predicted_latency", 0.5, "500 ms"),
        ("latency_spread", 0.031, "3.1 %"),
        ("latency_repeats", 30.0, "30"),
        ("memory_weights", 9.1e7, "91.0 MB"),
        ("latency_loaded", 1.0, "yes"),
        ("latency_steady", 0.0, "no"),
        ("latency_clock", "wall", "wall"),
        ("accuracy", 0.8123456, "0.8123"),
        ("nothing", None, "–"),
    ],
)
def test_further_figures_have_their_units(name, value, text):
    assert detail(name, value).replace(SPACE, " ") == text
