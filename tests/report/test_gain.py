"""Gains, computed by hand."""

from __future__ import annotations

import pytest

from secateur.report.gain import Gain, between, faster, gain_of

PRUNED = Gain(
    latency=(0.042, 0.0145),
    parameters=(20.0, 13.4),
    body_parameters=(10.0, 3.1),
    score=(0.813, 0.782),
    metric="accuracy",
    data="test",
    chance=0.5,
)


def test_the_line_that_is_read_first() -> None:
    assert str(PRUNED) == "2.9 × faster, 33 % smaller (layers by 69 %), −3.1 points"
    assert PRUNED.speedup == pytest.approx(42 / 14.5)
    assert (PRUNED.smaller(), PRUNED.smaller("body_parameters")) == (pytest.approx(0.33), pytest.approx(0.69))
    assert PRUNED.points == pytest.approx(-3.1)


def test_what_is_kept_is_counted_above_chance() -> None:
    assert PRUNED.kept == pytest.approx(0.282 / 0.313)
    # MRPC: 94.5 % of the score, and 59 % of what was learned
    rest = Gain(score=(0.84, 0.945 * 0.84), chance=0.7274)
    assert rest.kept == pytest.approx(0.59, abs=0.01)
    assert Gain(score=(0.5, 0.4), chance=0.5).kept is None
    assert Gain(score=(0.5, 0.4)).kept is None


def test_units_and_data_are_said() -> None:
    assert PRUNED.details() == (
        "latency 42.0 → 14.5 ms, parameters 20 → 13.4, accuracy 0.813 → 0.782 on test data, "
        "90 % of what it had learned above chance (0.500)"
    )
    assert between((0.9, 0.0005), "seconds") == "900 ms → 500 µs"
    assert between((2e6, 1.5e6), "count") == "2.00 → 1.50 M"


def test_language_models_are_told_by_their_perplexity() -> None:
    gain = Gain(latency=(2.0, 1.0), score=(0.4, 0.3), metric="token_accuracy", perplexity=(8.1, 9.43))
    assert str(gain) == "2.0 × faster, perplexity 8.10 → 9.43"
    assert gain.cost() == "1.3 of perplexity"
    both = Gain(data="test", perplexity=(8.1, 9.43), latency=(2.0, 1.0), prompt_latency=(0.5, 0.25), token_latency=(0.02, 0.01))
    assert both.details() == (
        "perplexity 8.10 → 9.43 on test data, latency 2.00 → 1.00 s, per prompt 500 → 250 ms, per token 20.0 → 10.0 ms"
    )


def test_what_is_not_known_is_not_said() -> None:
    assert str(Gain()) == ""
    assert Gain().as_dict()["speedup"] is None
    assert (Gain().cost(), PRUNED.cost(), Gain(score=(0.5, 0.6)).cost()) == ("an unknown amount", "3.1 points", "nothing")


@pytest.mark.parametrize(
    ("times", "text"), [(None, ""), (1.01, "as fast"), (1.09, "1.09 × faster"), (0.5, "2.0 × slower"), (12.3, "12 × faster")]
)
def test_times(times: float | None, text: str) -> None:
    assert faster(times) == text


def test_predictions_are_marked() -> None:
    gain = gain_of({"latency": 3.0, "parameters": 4}, {"parameters": 2}, {}, {"latency": 1.0})
    assert str(gain) == "about 3.0 × faster (predicted), 50 % smaller"
    assert not gain_of({"latency": 3.0}, {"latency": 1.5}, {}, {"latency": 1.0}).predicted
