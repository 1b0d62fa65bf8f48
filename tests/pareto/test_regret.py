"""Regret of searches against each other: by hand, and by counting cells."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.pareto import hypervolume
from secateur.pareto.regret import Courses, quantile_hypervolumes, sampled

#: Errors 0.1, 0.2, 0.3, 0.4 and sizes 10, 20, 30, 40: as quantiles both are 0, 1/3, 2/3 and 1.
SEARCHES = [np.array([[0.4, 10.0], [0.1, 30.0]]), np.array([[0.2, 20.0]]), np.array([[0.3, 40.0]])]


def test_quantiles_of_all_searches_and_the_area_up_to_two() -> None:
    """(0, 2/3) and (1, 0) cover 2 · 4/3 + 1 · 2/3."""
    assert quantile_hypervolumes(SEARCHES) == pytest.approx([10 / 3, (5 / 3) ** 2, 4 / 3 * 1])


def test_courses_and_regret_by_hand() -> None:
    found = Courses.of(SEARCHES)
    first, second, third = found.each
    assert first == pytest.approx([1 * 2, 10 / 3])
    assert (second, third) == (pytest.approx([25 / 9]), pytest.approx([4 / 3]))
    together = 2 * 4 / 3 + 5 / 3 * 1 / 3 + 1 * 1 / 3  # (0, 2/3), then what (1/3, 1/3) and (1, 0) add below
    assert (found.seen, found.possible) == (pytest.approx(together), 4.0)
    assert found.regrets(found.possible)[0] == pytest.approx([2.0, 4 - 10 / 3])
    assert found.regrets(found.seen)[1] == pytest.approx([together - 25 / 9])


def test_the_best_possible_is_that_of_the_whole_problem_where_it_is_known() -> None:
    """A point better than all that was seen stands at quantile 0 in both; one between is placed between."""
    problem = np.array([[0.05, 5.0], *np.concatenate(SEARCHES)])
    assert Courses.of(SEARCHES, problem).possible == pytest.approx(4.0)
    alone = np.array([[0.25, 25.0]])  # behind two of the four values in each: quantile 2/3
    assert Courses.of(SEARCHES, alone).possible == pytest.approx((4 / 3) ** 2)


def test_three_objectives_go_up_to_eight() -> None:
    assert Courses.of([np.array([[1.0, 2.0, 3.0]])]).possible == 8.0


def test_quantiles_are_those_of_scipy() -> None:
    """Ranks from scipy over all points at once, scaled to 0…1, give the same hypervolumes."""
    from scipy.stats import rankdata

    rng = np.random.default_rng(0)
    searches = [np.column_stack([rng.integers(0, 8, n), rng.random(n)]) for n in (5, 9, 1)]
    every = np.concatenate(searches)
    normal = (rankdata(every, axis=0) - 1) / (len(every) - 1)
    parts = np.split(normal, np.cumsum([5, 9]))
    assert quantile_hypervolumes(searches) == pytest.approx([hypervolume(part, np.array([2.0, 2.0])) for part in parts])


def test_a_course_at_other_times() -> None:
    """What held at a time holds until the next; nothing was found before the first."""
    times, course = np.array([1.0, 4.0, 4.0]), np.array([0.5, 0.7, 0.9])
    found = sampled(times, course, np.array([0.0, 1.0, 3.9, 4.0, 99.0]), before=0.0)
    assert found.tolist() == [0.0, 0.5, 0.5, 0.9, 0.9]
