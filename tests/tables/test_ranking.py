"""Rank correlations against scipy, common ratio and fronts by hand."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from secateur.rng import generator
from secateur.tables import ranking
from secateur.tables.ranking import Interval, common_ratio, front_accuracy, kendall, rank, spearman, top

LISTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=25)


@given(LISTS)
def test_correlations_are_those_of_scipy_ties_included(pairs):
    true, scores = np.array(pairs, dtype=float).T
    constant = len(set(true)) == 1 or len(set(scores)) == 1
    for ours, theirs in ((spearman, stats.spearmanr), (kendall, stats.kendalltau)):
        found = ours(true, scores)
        if constant:
            assert found is None
        else:
            assert found == pytest.approx(theirs(-true, scores).statistic, abs=1e-12)


@pytest.mark.parametrize("correlation", [spearman, kendall])
def test_orders_alike_reversed_and_too_few(correlation):
    perplexity = np.array([30.0, 20.0, 25.0, 40.0])
    assert correlation(perplexity, -perplexity) == pytest.approx(1)
    assert correlation(perplexity, perplexity) == pytest.approx(-1)
    assert correlation(perplexity[:2], perplexity[:2]) is None


def test_common_ratio_by_hand():
    true = np.arange(10.0)
    scores = np.array([10, 9, 1, 2, 8, 7, 3, 4, 5, 6.0])  # its best four: 0, 1, 4, 5
    assert common_ratio(true, scores, 0.2) == 1
    assert common_ratio(true, scores, 0.4) == 0.5
    assert common_ratio(true, scores, 1.0) == 1
    assert common_ratio(true, scores, 0.01) == 1  # at least one network


def test_a_constant_proxy_is_as_good_as_chance():
    assert common_ratio(np.arange(10.0), np.zeros(10), 0.3) == pytest.approx(0.3)
    # Two tie for the second place, one of them among the true best two: half a hit beside the whole one.
    assert common_ratio(np.arange(4.0), np.array([5, 1, 1, 0.0]), 0.5) == pytest.approx(0.75)
    # Truly equal networks at the boundary: either is right.
    assert common_ratio(np.array([1.0, 2, 2, 3]), np.array([4.0, 1, 3, 2]), 0.5) == 1


def test_bins_are_by_true_rank():
    true = np.array([5.0, 1, 3, 2, 4])
    assert top(true, 0.4).tolist() == [False, True, False, True, False]
    assert top(np.array([1.0, 1, 1]), 0.1).all()
    assert top(np.zeros(0), 0.1).tolist() == []


def test_rank_takes_correlations_inside_the_bin():
    rng = np.random.default_rng(0)
    true = np.arange(40.0)
    scores = -true.copy()
    scores[:20] = scores[:20][::-1]  # the better half is told the wrong way round, the halves the right way
    half, whole = rank(true, scores, shares=(0.5, 1.0))
    assert (half.count, whole.count) == (20, 40)
    assert half.spearman == pytest.approx(-1)
    assert half.kendall == pytest.approx(-1)
    assert half.common_ratio == 1
    assert half.spearman_interval is None
    assert whole.spearman == pytest.approx(stats.spearmanr(-true, scores).statistic)
    few = rank(true[:5], rng.random(5), shares=(0.2,))[0]
    assert (few.count, few.spearman, few.kendall) == (1, None, None)


def test_intervals_hold_the_figure_and_repeat():
    rng = np.random.default_rng(1)
    true = rng.normal(size=80)
    scores = -true + rng.normal(size=80)
    first, again = (rank(true, scores, shares=(0.5, 1.0), rng=generator(3, "bootstrap"), samples=300) for _ in range(2))
    assert first == again
    for found in first:
        for name in ("spearman", "kendall", "common_ratio"):
            interval = getattr(found, f"{name}_interval")
            assert interval.low <= getattr(found, name) <= interval.high
            assert interval.low < interval.high or name == "common_ratio"
    # Scipy's own bootstrap finds the same spread.
    theirs = stats.bootstrap(
        (true, scores), lambda a, b: stats.spearmanr(-a, b).statistic, paired=True, n_resamples=300, method="percentile", rng=0
    ).confidence_interval
    assert first[1].spearman_interval.low == pytest.approx(theirs.low, abs=0.06)
    assert first[1].spearman_interval.high == pytest.approx(theirs.high, abs=0.06)
    assert str(first[0].spearman_interval).count("…") == 1


@pytest.mark.parametrize("largest", [0, 512], ids=["sorted", "matrices"])
def test_kendall_bootstrap_is_that_of_the_drawn_networks(largest, monkeypatch):
    monkeypatch.setattr(ranking, "MATRIX", largest)
    rng = np.random.default_rng(2)
    true, scores = rng.normal(size=12), rng.normal(size=12)
    drawn = rng.integers(0, 12, size=(5, 12))
    expected = [stats.kendalltau(-true[d], scores[d]).statistic for d in drawn]
    assert ranking._kendall_rows(true, scores, drawn) == pytest.approx(expected, abs=1e-12)


def test_thousands_of_networks_take_little_memory():
    """An (n, n) array alone would take 128 MB."""
    rng = np.random.default_rng(5)
    true = rng.normal(size=4000)
    scores = np.round(-true + rng.normal(size=4000), 1)
    tracemalloc.start()
    try:
        found = kendall(true, scores)
        assert tracemalloc.get_traced_memory()[1] < 4e6
        (ranked,) = rank(true, scores, shares=(1.0,), rng=generator(0), samples=20)
        assert tracemalloc.get_traced_memory()[1] < 64e6
    finally:
        tracemalloc.stop()
    assert found == ranked.kendall == pytest.approx(stats.kendalltau(-true, scores).statistic, abs=1e-12)
    assert ranked.spearman == pytest.approx(stats.spearmanr(-true, scores).statistic, abs=1e-12)


def test_a_bin_of_equals_has_no_interval():
    found = rank(np.ones(5), np.arange(5.0), shares=(1.0,), rng=generator(0))[0]
    assert found.spearman is None
    assert found.spearman_interval is None


@pytest.mark.parametrize("cells", [1, 300, 2**20])
def test_an_interval_needs_a_value_in_half_of_the_draws(cells, monkeypatch):
    monkeypatch.setattr(ranking, "CELLS", cells)  # so many draws at a time
    drawn = np.full((100, 3), -1)
    for known, expected in ((49, None), (50, Interval(0.5, 0.5))):
        drawn[:known] = 0
        rows = lambda true, scores, draws: np.where(draws[:, 0] < 0, np.nan, 0.5)  # noqa: E731
        assert ranking._interval(rows, np.arange(3.0), np.arange(3.0), drawn) == expected


def test_front_accuracy_by_hand():
    perplexity = np.array([10.0, 20, 30, 25])
    latency = np.array([3.0, 2, 1, 2.5])
    perfect = front_accuracy(perplexity, -perplexity, latency)
    assert (perfect.members, perfect.picked, perfect.found, perfect.gap) == (3, 3, 1.0, 0.0)
    assert perfect.hypervolume == pytest.approx(1)
    # A proxy that takes the second network for the worst: it picks 0, 2 and 3 and misses 1.
    wrong = front_accuracy(perplexity, np.array([4.0, 0, 1, 2]), latency)
    assert (wrong.members, wrong.picked) == (3, 3)
    assert wrong.found == pytest.approx(2 / 3)
    # At the cost of network 1 (2.0) only network 2 is picked: 30 instead of 20.
    assert (wrong.gap, wrong.worst_gap) == (pytest.approx(0.5 / 3), pytest.approx(0.5))
    # Scaled picks: (0, 1), (0.75, 0.75), (1, 0) against the true front's (0, 1), (0.5, 0.5), (1, 0).
    true_volume = 1.1 * 0.1 + 0.6 * 0.5 + 0.1 * 0.5
    picked_volume = 1.1 * 0.1 + 0.35 * 0.25 + 0.1 * 0.75
    assert wrong.hypervolume == pytest.approx(picked_volume / true_volume)


def test_front_accuracy_over_two_costs_and_none():
    rng = np.random.default_rng(4)
    true, costs = rng.random(30) + 1, rng.random((30, 2))
    found = front_accuracy(true, rng.random(30), costs)
    assert 0 <= found.found <= 1
    assert 0 < found.hypervolume <= 1
    assert 0 <= found.gap <= found.worst_gap
    assert front_accuracy(np.zeros(0), np.zeros(0), np.zeros(0)) is None


def test_what_is_no_ranking_is_refused():
    with pytest.raises(ValueError, match="one score per network"):
        spearman(np.arange(3.0), np.arange(4.0))
    with pytest.raises(ValueError, match="finite"):
        kendall(np.array([1.0, 2, np.nan]), np.arange(3.0))
