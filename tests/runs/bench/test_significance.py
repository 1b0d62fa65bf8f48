"""Whether searchers differ: against scipy, formulas by hand and Demšar's published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from secateur.runs.bench.significance import CriticalDifference, critical_difference, holm, pairs, wilcoxon

#: Demšar (2006), table 6: AUCs of C4.5 with and without its parameters m and cf on 14 data sets.
DEMSAR = {
    "C4.5": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.0, 0.940, 0.619, 0.972, 0.957],
    "C4.5+m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.0, 0.962, 0.666, 0.981, 0.978],
    "C4.5+cf": [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.0, 0.965, 0.614, 0.9751, 0.946],
    "C4.5+m+cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.0, 0.962, 0.669, 0.975, 0.970],
}
#: Demšar (2006), table 5a: critical values of Nemenyi's test at 0.05 for 2, 3, … 10 classifiers.
Q = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]


def test_demsars_example() -> None:
    """Section 3.2.2: average ranks 3.143, 2.000, 2.893 and 1.964, and a critical difference of 1.25."""
    found = critical_difference({name: -np.array(values) for name, values in DEMSAR.items()})
    assert found is not None
    assert found.ranks == pytest.approx({"C4.5+m+cf": 1.964, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5": 3.143}, abs=5e-4)
    assert list(found.ranks) == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    assert found.distance == pytest.approx(1.25, abs=5e-3)
    assert found.p == pytest.approx(stats.friedmanchisquare(*DEMSAR.values()).pvalue)
    assert found.blocks == 14


@pytest.mark.parametrize("k", range(3, 11))
def test_critical_distances(k: int) -> None:
    found = critical_difference({str(i): np.random.default_rng(i).random(20) for i in range(k)})
    assert found is not None
    assert found.distance == pytest.approx(Q[k - 2] * np.sqrt(k * (k + 1) / (6 * 20)), rel=4e-4)


def test_groups_join_what_does_not_differ() -> None:
    ranks = {"a": 1.0, "b": 1.8, "c": 2.5, "d": 4.0, "e": 4.4, "f": 6.0}
    assert CriticalDifference(ranks, 10, 0.01, 1.0).groups == [["a", "b"], ["b", "c"], ["d", "e"]]
    assert CriticalDifference(ranks, 10, 0.01, 1.65).groups == [["a", "b", "c"], ["c", "d"], ["d", "e"], ["e", "f"]]
    assert CriticalDifference(ranks, 10, 0.2, 1.0).groups == [list(ranks)]
    assert CriticalDifference(ranks, 10, 0.01, 0.1).groups == []


def test_too_few_to_rank() -> None:
    assert critical_difference({"a": np.arange(5.0), "b": np.arange(5.0)}) is None
    assert critical_difference({name: np.ones(1) for name in "abc"}) is None
    alike = critical_difference({name: np.arange(5.0) for name in "abc"})
    assert alike is not None
    assert alike.p == 1.0
    assert alike.groups == [["a", "b", "c"]]


def test_holm_by_hand() -> None:
    """0.01 × 4, then 0.02 × 3, then 0.03 × 2 (which stays at the 0.06 before it), then 0.5."""
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


def test_pairs_against_scipy() -> None:
    rng = np.random.default_rng(0)
    values = {"a": rng.normal(0.0, 1.0, 200), "b": rng.normal(0.5, 1.0, 200), "c": rng.normal(0.0, 1.0, 200)}
    found = pairs(values, np.random.default_rng(1))
    assert [(pair.first, pair.second) for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [pair.p for pair in found] == pytest.approx(
        [stats.wilcoxon(values[p.first], values[p.second]).pvalue for p in found]
    )
    assert [pair.corrected for pair in found] == pytest.approx(holm([pair.p for pair in found]))
    differences = values["a"] - values["b"]
    assert found[0].difference == pytest.approx(differences.mean())
    error = differences.std(ddof=1) / np.sqrt(200)  # the bootstrap's interval is close to the normal one
    assert [found[0].low, found[0].high] == pytest.approx(differences.mean() + np.array([-1.96, 1.96]) * error, abs=0.1 * error)


def test_nothing_differs() -> None:
    assert wilcoxon(np.zeros(5)) == 1.0
