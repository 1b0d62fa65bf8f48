"""Searches whose trainings stop early by extrapolation: what goes on, by brute force; and what the inner searcher is told."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from secateur.catalogue import find, names
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.predictors.curves.extrapolators import Extrapolator, LastValue
from secateur.search import LocalSearch, MoRea, Random
from secateur.search.extrapolating import Extrapolating
from secateur.testing.toys import Problem, toy
from secateur.trial import Status, Trial

BUDGETS = (1.0, 2.0, 3.0, 5.0, 10.0)
INNER = {"random": Random, "local": LocalSearch, "mo-rea": partial(MoRea, population=5, sample=3)}


@pytest.fixture
def problem() -> Problem:
    return toy("medium", "error")


def result(problem: Problem, trial: Trial, **changes: Any) -> Trial:
    """A trial that has ended: errors fall to what the architecture has, the faster the smaller its key's number."""
    values = problem.evaluate(trial.architecture)
    end = values["error"]
    slow = int(trial.key[:4], 16) / 2**16
    curve = tuple((b, {"error": end + (1 + slow) / b}) for b in BUDGETS if b <= (trial.budget or 0))
    told = {**{o.name: values[o.name] for o in problem.objectives}, "error": curve[-1][1]["error"]}
    return replace(trial, **{"status": Status.COMPLETE, "values": told, "curve": curve, **changes})


def run(problem: Problem, searcher: Extrapolating, trials: int) -> list[Trial]:
    asked = []
    for _ in range(trials):
        for trial in searcher.ask():
            asked.append(trial)
            searcher.tell(result(problem, trial))
    return asked


def make(problem: Problem, inner: Any = Random, extrapolator: Any = LastValue, **more: Any) -> Extrapolating:
    return Extrapolating(
        inner(problem.space, problem.objectives, seed=more.pop("seed", 1)),
        extrapolator,
        BUDGETS,
        **{"few": 2.0, "keep": 0.5, "begin": 4, **more},
    )


def test_what_goes_on_by_brute_force(problem: Problem) -> None:
    """From the fifth on those go on whose error at budget 2, with what whole trainings gained since, is in the better half."""
    asked = run(problem, make(problem), 60)
    whole: list[float] = []
    gains: list[float] = []
    went = 0
    for place, trial in enumerate(asked):
        ended = result(problem, trial)
        if trial.continues is not None:
            first = result(problem, asked[trial.continues])
            assert trial.budget == 10.0
            assert trial.key == first.key
            whole.append(ended.values["error"])
            gains.append(ended.values["error"] - first.values["error"])
            continue
        assert trial.budget == 2.0
        promised = len(whole) < 4
        if not promised:
            predicted = ended.values["error"] + np.mean(gains)
            promised = sum(value <= predicted for value in whole) < max(1, round(0.5 * len(whole)))
        following = asked[place + 1] if place + 1 < len(asked) else None
        if following is not None:
            assert (following.continues == trial.id) == promised
            went += promised
    assert 4 < went < 30
    assert len(asked) == 60


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_the_inner_searcher_is_told_whole_trainings_and_what_was_stopped(inner: Any, problem: Problem) -> None:
    searcher = make(problem, inner)
    asked = run(problem, searcher, 40)
    told = {t.key: t for t in searcher.inner.history}
    first = [t for t in asked if t.continues is None]
    assert [t.key for t in first[:-1]] == [t.key for t in searcher.inner.history][: len(first) - 1]
    went = {t.key for t in asked if t.continues is not None}
    for trial in first[:-1]:
        known = told[trial.key]
        assert known.complete == (trial.key in went)
        assert known.budget is None
        if known.complete:
            assert known.values["error"] == result(problem, replace(trial, budget=10.0)).values["error"]
        else:
            assert known.status == Status.INFEASIBLE
            assert "stopped early" in str(known.reason)
    assert not any(t.key not in went for t in searcher.front())


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_a_restored_search_goes_on_as_before(inner: Any, problem: Problem) -> None:
    for stop in (0, 1, 9, 22, 31, 47, 53):
        going = make(problem, inner, seed=5)
        run(problem, going, stop)
        resumed = make(problem, inner, seed=5)
        resumed.restore(list(going.history))
        assert [t.point for t in run(problem, going, 12)] == [t.point for t in run(problem, resumed, 12)], stop


def test_a_search_is_restored_with_trials_pending(problem: Problem) -> None:
    going = make(problem, LocalSearch, seed=6)
    waiting: list[Trial] = []
    for _ in range(12):  # two asked, the newer told: one more pending each time, first trainings and continued ones
        older, newer = going.ask(2)
        waiting.append(older)
        going.tell(result(problem, newer))
    resumed = make(problem, LocalSearch, seed=6)
    resumed.restore(list(going.history), waiting)
    for trial in waiting[:6]:
        assert going.ask() == resumed.ask()
        for searcher in (going, resumed):
            searcher.tell(result(problem, trial))
    assert going.ask(3) == resumed.ask(3)
    assert going.may_continue(5) == resumed.may_continue(5)


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_two_drivers_go_on_as_one(inner: Any, problem: Problem) -> None:
    """Asked by turns, each told of what the other asked, an ask that came too late taken back: first trainings and others."""
    one, two, alone = (make(problem, inner, seed=5) for _ in range(3))
    asked = []
    for turn in range(40):
        asking, other = (one, two) if turn % 2 else (two, one)
        (late,) = other.ask()
        (trial,) = asking.ask()
        assert alone.ask() == [trial] == [late], turn
        other.retract(late)
        other.adopt(trial)
        asked.append(trial)
        for searcher in (one, two, alone):
            searcher.tell(result(problem, trial))
    assert {t.continues is None for t in asked} == {True, False}
    assert one.ask(3) == two.ask(3) == alone.ask(3)
    assert one.inner.asked == two.inner.asked == alone.inner.asked


def test_trainings_that_fail_stop_there(problem: Problem) -> None:
    searcher = make(problem)
    (first,) = searcher.ask()
    searcher.tell(result(problem, first, status=Status.FAILED, values={}, reason="out of memory"))
    (second,) = searcher.ask()
    assert second.continues is None
    searcher.tell(result(problem, second))
    (whole,) = searcher.ask()
    assert (whole.continues, whole.budget) == (second.id, 10.0)
    assert searcher.may_continue(3) == {whole.key}
    searcher.tell(result(problem, whole, status=Status.FAILED, values={}, reason="diverged"))
    assert [t.status for t in searcher.inner.history] == ["failed", "failed"]
    assert searcher.may_continue(3) == set()


class Biased(LastValue):
    """Tells one curve at a time, and is wrong about all of them by as much."""

    learns = False

    def learn(self, inputs: np.ndarray, curves: np.ndarray) -> None:
        pass

    def predict(self, inputs: np.ndarray, begun: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return begun[:, -1] + 7.0, np.full(len(begun), np.nan)


def test_what_is_wrong_about_all_curves_alike_decides_nothing(problem: Problem) -> None:
    biased, plain = (run(problem, make(problem, extrapolator=kind), 60) for kind in (Biased, LastValue))
    assert [t.point for t in biased] == [t.point for t in plain]
    assert sum(t.continues is not None for t in plain) > 4


def test_all_objectives_that_change_are_extrapolated(problem: Problem) -> None:
    """Two that are the same number decide as one does: neither is compared as it begins with how others ended."""

    def doubled(trial: Trial) -> Trial:
        curve = tuple((at, {**values, "parameters": values["error"]}) for at, values in trial.curve)
        return replace(trial, values={**trial.values, "parameters": trial.values["error"]}, curve=curve)

    both = toy("medium", "error", "parameters")
    one, two = make(problem), make(both)
    for _ in range(60):
        (alone,), (together,) = one.ask(), two.ask()
        assert alone.point == together.point
        one.tell(result(problem, alone))
        two.tell(doubled(result(both, together)))
    assert sum(t.continues is not None for t in two.history) > 4


def test_an_extra_trial_is_none_that_was_asked(problem: Problem) -> None:
    going, resumed = (make(problem, seed=5) for _ in range(2))
    run(problem, going, 12)
    extra = replace(going.history[3], id=None, origin="imported")
    resumed.restore([*going.history[:4], extra, *going.history[4:]])
    assert resumed.inner.asked == going.inner.asked
    assert [t.point for t in run(problem, going, 6)] == [t.point for t in run(problem, resumed, 6)]


class Told(Extrapolator):
    """Keeps what it was told, and says that all end at 0."""

    name = "told"

    def learn(self, inputs: np.ndarray, curves: np.ndarray) -> None:
        self.known = curves

    def predict(self, inputs: np.ndarray, begun: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert begun.shape == (len(inputs), self.seen)
        assert np.isfinite(begun).all()
        return np.zeros(len(begun)), np.ones(len(begun))


def test_curves_are_put_together_from_both_trainings(problem: Problem) -> None:
    """Also where each of the two tells its own part only, and where one has no curve at all."""
    for kind in ("whole", "parts", "none"):
        searcher = make(problem, extrapolator=Told, begin=2)
        for _ in range(12):
            for trial in searcher.ask():
                ended = result(problem, trial)
                if kind == "parts" and trial.continues is not None:
                    ended = replace(ended, curve=tuple(p for p in ended.curve if p[0] > 2))
                searcher.tell(replace(ended, curve=()) if kind == "none" else ended)
        model = searcher._made["error"]
        assert isinstance(model, Told)
        ends = [t.values["error"] for t in searcher.history if t.continues is not None]
        assert np.allclose(model.known[:, -1], ends[: len(model.known)])
        assert np.isfinite(model.known).all()
        if kind != "none":
            assert np.allclose(model.known[:, 0] - model.known[:, 1], (model.known[:, 1] - model.known[:, 4]) / 0.4 * 0.5)


def test_several_objectives_go_by_fronts() -> None:
    problem = toy("medium", "error", "parameters")
    searcher = make(problem, keep=0.3)
    asked = run(problem, searcher, 60)
    went = [t for t in asked if t.continues is not None]
    assert 4 < len(went) < 30
    assert len(searcher.front()) >= 1


@pytest.mark.parametrize("name", names("extrapolator"))
def test_every_extrapolator_serves(name: str, problem: Problem) -> None:
    if name == "wpm":  # which takes a second for each
        problem = replace(problem, objectives=(Objective("error"),))
    asked = run(problem, make(problem, extrapolator=find("extrapolator", name), begin=10), 24 if name == "wpm" else 40)
    assert any(t.continues is None for t in asked[20:])


def test_bad_shares_and_budgets(problem: Problem) -> None:
    with pytest.raises(ConfigurationError, match="one of: 1, 2, 3, 5; got 4"):
        make(problem, few=4.0)
    with pytest.raises(ConfigurationError, match="got 10"):
        make(problem, few=10.0)
    with pytest.raises(ConfigurationError, match="`keep` must be a share"):
        make(problem, keep=0.0)
    with pytest.raises(ConfigurationError, match="`begin` must be at least 1"):
        make(problem, begin=0)
