from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.errors import ConfigurationError, UnknownNameError
from secateur.objectives import Bound, Objective, matrix, parse_bounds


@pytest.mark.parametrize(
    ("text", "value", "relative"),
    [
        ("50%", 0.5, True),
        (" 12.5 % ", 0.125, True),
        ("2e6", 2e6, False),
        ("3M", 3e6, False),
        ("3k", 3e3, False),
        ("1.5G", 1.5e9, False),
        ("2MiB", 2 * 1024**2, False),
        ("2MB", 2e6, False),
        ("7B", 7.0, False),
        ("20ms", 0.02, False),
        ("5us", 5e-6, False),
        ("5µs", 5e-6, False),
        ("2s", 2.0, False),
        ("-1", -1.0, False),
        (0.5, 0.5, False),
        (7, 7.0, False),
        (np.float64(0.25), 0.25, False),
    ],
)
def test_bounds(text: str | float, value: float, relative: bool) -> None:
    bound = Bound.parse(text)
    assert bound.value == pytest.approx(value)
    assert bound.relative is relative
    assert Bound.parse(bound) is bound


@pytest.mark.parametrize("text", ["", "fifty", "5 apples", "1..2", "e", "%", "1.2.3", "nan", "inf", "1e999"])
def test_what_is_no_bound(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a bound: give a number"):
        Bound.parse(text)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), True])
def test_a_bound_is_a_finite_number(number: float) -> None:
    with pytest.raises(ConfigurationError, match="is not a bound"):
        Bound.parse(number)


@settings(deadline=None)
@given(st.floats(0, 1e12), st.booleans())
def test_text_of_a_bound_is_read_back(value: float, relative: bool) -> None:
    assert Bound.parse(str(Bound(value, relative))).value == pytest.approx(value, rel=1e-4)
    assert Bound.parse(str(Bound(value, relative))).relative is relative


def test_relative_bounds_need_the_unpruned_value() -> None:
    assert Bound.parse("50%").resolve(200) == 100
    assert Bound.parse("50").resolve(None) == 50
    with pytest.raises(ConfigurationError, match="a bound of 50% is relative to an unpruned network"):
        Bound.parse("50%").resolve(None)


def test_objectives() -> None:
    assert Objective.parse("error") == Objective("error")
    assert Objective.parse("latency<=20ms") == Objective("latency", upper=Bound(0.02))
    assert Objective.parse(" parameters >= 10% ") == Objective("parameters", lower=Bound(0.1, relative=True))
    given_one = Objective("score", "max")
    assert Objective.parse(given_one) is given_one
    for text in ("error", "latency<=0.02s", "parameters>=10%"):
        assert str(Objective.parse(text)) == text


def test_bad_objectives() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown objective `latencyy`\. Did you mean `latency`\?"):
        Objective.parse("latencyy")
    with pytest.raises(ConfigurationError, match="is not an objective"):
        Objective.parse("latency<=")
    with pytest.raises(ConfigurationError, match="is not a bound"):
        Objective.parse("latency<=soon")
    with pytest.raises(ConfigurationError, match="`direction` of `error` must be min or max, got `up`"):
        Objective("error", "up")


def test_bounds_are_inclusive_and_say_what_broke_them() -> None:
    unpruned = {"parameters": 100.0}
    half = Objective.parse("parameters<=50%")
    assert half.violated({"parameters": 50.0}, unpruned) is None
    assert half.violated({"parameters": 51.0}, unpruned) == "parameters 51 > 50"
    assert half.violated({"error": 0.1}, unpruned) is None
    least = Objective.parse("parameters>=10%")
    assert least.violated({"parameters": 10.0}, unpruned) is None
    assert least.violated({"parameters": 9.0}, unpruned) == "parameters 9 < 10"


def test_matrix_minimises_every_column() -> None:
    values = [{"a": 1.0, "b": 2.0, "c": 9.0}, {"b": 4.0, "a": 3.0}]
    points = matrix(values, [Objective("b", "max"), Objective("a")])
    assert points.tolist() == [[-2.0, 1.0], [-4.0, 3.0]]
    assert matrix([], [Objective("a"), Objective("b")]).shape == (0, 2)
    assert points.dtype == np.float64


def test_text_and_back_is_the_same_objective() -> None:
    for text in ("parameters<=1234567", "macs<=33.3%", "latency<=0.0123456789>=1e-06", "error", "parameters>=10%"):
        objective = Objective.parse(text)
        assert Objective.parse(str(objective)) == objective
    with pytest.raises(ConfigurationError, match="twice"):
        Objective.parse("macs<=3<=4")


def test_a_quantity_knows_its_better_direction() -> None:
    assert Objective.parse("decoder_parameters>=5M").direction == "max"
    assert Objective.parse("latency").direction == "min"
    assert matrix(
        [{"decoder_parameters": 3.0, "latency": 2.0}], [Objective.parse("decoder_parameters"), Objective.parse("latency")]
    ).tolist() == [[-3.0, 2.0]]


def test_excess_is_a_share_of_the_bound() -> None:
    both = Objective.parse("parameters<=200>=100")
    assert [both.excess(value) for value in (50, 100, 150, 200, 300)] == [0.5, 0, 0, 0, 0.5]
    assert Objective.parse("macs>=0").excess(-2.0) == 2.0
    assert Objective.parse("parameters<=50%").excess(1e9) == 0, "relative bounds need the unpruned network"


@pytest.mark.parametrize("text", ["latency<=20", "latency>=1"])
def test_seconds_without_a_unit_are_questioned_where_milliseconds_may_be_meant(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"means \d+ seconds: write \d+ms or \d+s"):
        Objective.parse(text)
    assert Objective.parse(f"{text}s").violated({"latency": 10.0}, {}) is None
    with pytest.raises(ConfigurationError, match=r"`latency=20` means 20 seconds"):
        parse_bounds({"latency": "20"})
    assert parse_bounds({"latency": 20}) == [("latency", Bound(20.0))], "a number of Python's is seconds"


def test_an_objective_is_spelt_so_that_it_reads_the_same() -> None:
    for text in ("latency<=2s", "latency<=20ms>=1ms", "memory<=3000000", "latency<=50%", "parameters>=10%"):
        objective = Objective.parse(text)
        assert Objective.parse(str(objective)) == objective
