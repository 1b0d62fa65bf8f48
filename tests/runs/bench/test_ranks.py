"""Average ranks: by hand, and against all combinations of repetitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, sem

from secateur.rng import generator
from secateur.runs.bench.ranks import average_ranks, standard_error


def test_every_repetition_agrees() -> None:
    regrets = {"a": [np.array([[0.3, 0.1]])], "b": [np.array([[0.2, 0.1]])], "c": [np.array([[0.4, 0.5]])]}
    found = average_ranks(regrets, generator(0, "ranks"), samples=7)
    assert {name: ranks.tolist() for name, ranks in found.items()} == {"a": [2, 1.5], "b": [1, 1.5], "c": [3, 3]}


def test_the_mean_over_all_combinations_of_repetitions() -> None:
    """Two tasks with two and three repetitions: brute force ranks every combination, and both tasks weigh the same."""
    rng = np.random.default_rng(1)
    sizes = {"a": (2, 3), "b": (3, 3), "c": (2, 2)}
    regrets = {name: [rng.integers(0, 5, (n, 4)).astype(float) for n in several] for name, several in sizes.items()}
    expected = np.zeros((3, 4))
    for task in range(2):
        every = [rankdata(np.stack(drawn), axis=0) for drawn in itertools.product(*(tasks[task] for tasks in regrets.values()))]
        expected += np.mean(every, axis=0) / 2
    found = average_ranks(regrets, generator(0, "ranks"), samples=20_000)
    assert np.stack(list(found.values())) == pytest.approx(expected, abs=0.03)


def test_the_same_tasks_for_all() -> None:
    one = np.zeros((1, 1))
    with pytest.raises(ValueError, match="same tasks"):
        average_ranks({"a": [one, one], "b": [one]}, generator(0, "ranks"))


def test_standard_errors_are_scipys() -> None:
    values = np.random.default_rng(0).random((5, 3))
    assert standard_error(values) == pytest.approx(sem(values))
    assert standard_error(values[:1]).tolist() == [0, 0, 0]
