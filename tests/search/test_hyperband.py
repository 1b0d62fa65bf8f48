"""Successive halving, Hyperband and BOHB: their brackets, by hand and by brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.search import Bohb, Hyperband, SuccessiveHalving
from secateur.search.bohb import FLOOR, NARROWEST, log_density
from secateur.search.hyperband import brackets
from secateur.spaces.pruning import Shape
from secateur.testing.toys import Toy, toy
from secateur.trial import Status, Trial

SHAPE = Shape(3, 4, 6)


def problem() -> Toy:
    return toy("medium", shape=SHAPE).seeking(Objective("error"))


def error(of: Toy, trial: Trial) -> float:
    """Falls with the budget, at a pace of each architecture's own."""
    pace = 1 + int(trial.key[:4], 16) / 65536
    return of.evaluate(trial.architecture)["error"] + 1 / (pace * (trial.budget or 1))


def ended(of: Toy, trial: Trial) -> Trial:
    values = {**of.evaluate(trial.architecture), "error": error(of, trial)}
    return replace(trial, status=Status.COMPLETE, values=values)


def run(of: Toy, searcher: Hyperband, trials: int) -> list[Trial]:
    asked = []
    for _ in range(trials):
        for trial in searcher.ask():
            asked.append(trial)
            searcher.tell(ended(of, trial))
    return asked


def test_brackets_by_hand() -> None:
    """Algorithm 1 of Li et al. (2018) with R = 81 and η = 3: n = ⌈5 · 3^s / (s + 1)⌉, n_i = ⌊n / 3^i⌋, r_i = 81 / 3^(s − i)."""
    found = brackets((1, 3, 9, 27, 81), 3)
    assert [b.sizes for b in found] == [(81, 27, 9, 3, 1), (34, 11, 3, 1), (15, 5, 1), (8, 2), (5,)]
    assert [b.budgets for b in found] == [(1, 3, 9, 27, 81), (3, 9, 27, 81), (9, 27, 81), (27, 81), (81,)]
    whole = [sum(n * r for n, r in zip(b.sizes, b.budgets, strict=True)) for b in found]
    assert max(whole) / min(whole) < 1.5, "brackets are about equally dear"


@pytest.mark.parametrize("kind", [SuccessiveHalving, Hyperband, Bohb])
def test_what_goes_on_by_brute_force(kind: type[Hyperband]) -> None:
    """Three turns of brackets, one trial at a time: each rung has the size it should, and the best of the one before it."""
    toys = problem()
    searcher = kind(toys.space, toys.objectives, seed=1, least=1, most=9, eta=3)
    sizes = [b.sizes for b in searcher.brackets]
    assert sizes == [(9, 3, 1)] if kind is SuccessiveHalving else sizes == [(9, 3, 1), (5, 1), (3,)]
    asked = run(toys, searcher, 3 * sum(map(sum, sizes)))
    at = iter(asked)
    for _, bracket in product(range(3), searcher.brackets):
        before: list[Trial] = []
        for size, budget in zip(bracket.sizes, bracket.budgets, strict=True):
            rung = [next(at) for _ in range(size)]
            assert {t.budget for t in rung} == {budget}
            if before:
                best = sorted(before, key=lambda t: error(toys, t))[:size]
                assert [t.continues for t in rung] == [t.id for t in best]
                assert [t.key for t in rung] == [t.key for t in best]
            else:
                assert {t.continues for t in rung} == {None}
            before = rung
    began = [t.key for t in asked if t.continues is None]
    assert len(set(began)) == len(began), "an architecture began twice"


def test_several_objectives_go_on_by_fronts() -> None:
    toys = toy("medium", shape=SHAPE)
    searcher = SuccessiveHalving(toys.space, toys.objectives, seed=2, most=3.0)
    first = run(toys, searcher, 3)
    points = searcher.points(searcher.history)
    (going,) = searcher.ask()
    assert going.continues in {t.id for t in first}
    chosen = points[going.continues]
    assert not any(np.all(p <= chosen) and np.any(p < chosen) for p in points)


@pytest.mark.parametrize("kind", [Hyperband, Bohb])
def test_a_restored_search_goes_on_as_before(kind: type[Hyperband]) -> None:
    toys = problem()
    whole = kind(toys.space, toys.objectives, seed=2)
    asked = run(toys, whole, 60)
    assert len({t.point for t in asked}) == 60
    for stop in (1, 9, 12, 30, 45):
        resumed = kind(toys.space, toys.objectives, seed=2)
        resumed.restore(whole.history[:stop], asked[stop : stop + 1])
        resumed.tell(ended(toys, asked[stop]))
        assert run(toys, resumed, 59 - stop) == asked[stop + 1 :], f"after {stop}"


def test_no_worker_waits_for_a_rung() -> None:
    """The next bracket begins meanwhile; results may come in any order."""
    toys = problem()
    searcher = Hyperband(toys.space, toys.objectives, seed=3)
    asked = searcher.ask(20)
    assert [t.budget for t in asked] == [1.0] * 9 + [3.0] * 5 + [9.0] * 3 + [1.0] * 3
    for trial in reversed(asked[1:9]):
        searcher.tell(ended(toys, trial))
    assert searcher.ask()[0].continues is None, "one of the first rung still runs"
    searcher.tell(ended(toys, asked[0]))
    best = sorted(asked[:9], key=lambda t: error(toys, t))[:3]
    assert [t.continues for t in searcher.ask(3)] == [t.id for t in best]


def test_failed_trials_do_not_go_on_and_are_not_waited_for() -> None:
    toys = problem()
    searcher = SuccessiveHalving(toys.space, toys.objectives, seed=4, most=9.0)
    asked = searcher.ask(9)
    for trial in asked:
        failed = replace(trial, status=Status.FAILED, reason="diverged")
        searcher.tell(ended(toys, trial) if trial.id in (2, 5) else failed)
    going = searcher.ask(3)
    assert {t.continues for t in going[:2]} == {2, 5}
    assert going[2].continues is None
    for trial in going[:2]:
        searcher.tell(replace(trial, status=Status.FAILED, reason="diverged"))
    assert searcher.ask()[0].continues is None


def test_an_exhausted_space_ends_at_the_top() -> None:
    toys = toy("small").seeking(Objective("error"))
    searcher = SuccessiveHalving(toys.space, toys.objectives, seed=5)
    asked = run(toys, searcher, 500)
    began = [t for t in asked if t.continues is None]
    assert len(began) == len({a.key for a in toys.space.every()})
    rest = len(began) % 9
    assert [t.budget for t in asked].count(3.0) == 3 * (len(began) // 9) + min(3, rest)
    assert searcher.ask() == []


def test_what_may_still_go_on_is_named() -> None:
    toys = problem()
    searcher = SuccessiveHalving(toys.space, toys.objectives, seed=6)
    asked = searcher.ask(9)
    for trial in asked[:6]:
        searcher.tell(ended(toys, trial))
    best = sorted(asked[:6], key=lambda t: error(toys, t))[:3]
    assert searcher.may_continue(5) == {t.key for t in (*best, *asked[6:])}


def test_what_cannot_be() -> None:
    toys = problem()
    with pytest.raises(ConfigurationError, match="`order` must be one of told, epsilon-net, got best"):
        Hyperband(toys.space, toys.objectives, order="best")
    with pytest.raises(ConfigurationError, match="`eta` must be at least 2"):
        Hyperband(toys.space, toys.objectives, eta=1)


def test_densities_by_hand() -> None:
    centres = np.array([[0.0, 1.0], [0.5, 1.0], [1.0, 1.0]])
    widths = [max(1.06 * np.std([0, 0.5, 1]) * 3 ** (-1 / 6), NARROWEST), NARROWEST]
    for point in ([0.2, 1.0], [0.9, 0.0]):
        total = 0.0
        for centre in centres:
            kernel = 1.0
            for x, c, width in zip(point, centre, widths, strict=True):
                kernel *= (1 - FLOOR) * np.exp(-(((x - c) / width) ** 2) / 2) + FLOOR
            total += kernel / 3
        assert log_density(np.array([point]), centres)[0] == pytest.approx(np.log(total))


def test_bohb_draws_what_resembles_good_ones() -> None:
    """After many results at one budget, its own draws are better than random ones, which are a third."""
    toys = problem()
    drawn = toys.space.sample_many(80, np.random.default_rng(0))
    known = [Trial(None, a, values=toys.evaluate(a), budget=9.0, origin="imported") for a in drawn]
    found = {}
    for share in (0.0, 1.0):
        searcher = Bohb(toys.space, toys.objectives, seed=7, at_random=share)
        for trial in known:
            searcher.tell(trial)
        found[share] = np.mean([toys.evaluate(t.architecture)["error"] for t in searcher.ask(25)])
    every = np.array([toys.evaluate(a)["error"] for a in toys.space.every()])
    assert found[0.0] < np.quantile(every, 0.15) < found[1.0]
