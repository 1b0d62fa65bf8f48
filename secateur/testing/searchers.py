"""The contract of every Searcher, as a test class: subclass it and give `build`, `problem` and `tiny` as fixtures.

    SEARCHERS = [Random, LocalSearch]

    @pytest.fixture(params=SEARCHERS, ids=lambda kind: kind.name)
    def build(request):
        return request.param

    class TestContract(SearcherContract):
        @pytest.fixture
        def problem(self):
            return toy("medium")

        @pytest.fixture
        def tiny(self):
            return toy("sublayer")

`build` is the class itself, or any callable of the same signature: (space, objectives, seed, take_extra). `problem` is a
space with objectives and values of any architecture, of at least a hundred architectures; `tiny` has a dozen or two, which can
all be asked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.search.base import Searcher
from secateur.testing.toys import Problem

Build = Callable[..., Searcher]

#: Trials of one run: past the start-up phase of a searcher that `build` makes with small populations.
TRIALS = 10


def _keys(asked: Sequence[Architecture]) -> list[str]:
    return [a.key for a in asked]


def _some(problem: Problem, start: int, stop: int) -> list[Architecture]:
    """Architectures of the space, by their place in it."""
    return list(itertools.islice(problem.space.every(), start, stop))


class SearcherContract:
    """What a study relies on, whatever the searcher and the space."""

    def test_same_seed_same_proposals(self, build: Build, problem: Problem) -> None:
        runs = [problem.run(build(problem.space, problem.objectives, seed=s), TRIALS) for s in (3, 3, 4)]
        assert runs[0] == runs[1]
        assert runs[0] != runs[2]

    def test_proposals_are_numbered_new_and_inside_the_space(self, build: Build, problem: Problem) -> None:
        searcher = build(problem.space, problem.objectives)
        proposals = [p for _ in range(4) for p in searcher.ask(3)]
        assert [p.id for p in proposals] == list(range(len(proposals)))
        assert all(problem.space.contains(p.architecture) for p in proposals)
        keys = [p.architecture.key for p in proposals]
        assert len(set(keys)) == len(keys), "a key was asked twice"

    def test_resumes_as_if_never_stopped(self, build: Build, problem: Problem) -> None:
        for stop in (0, 1, TRIALS // 2, TRIALS - 1):
            going = build(problem.space, problem.objectives, seed=5)
            problem.run(going, stop)
            resumed = build(problem.space, problem.objectives, seed=5)
            resumed.restore(list(going.history))
            assert problem.run(going, 3) == problem.run(resumed, 3), f"the search went on differently after {stop} trials"

    def test_resumes_with_proposals_pending(self, build: Build, problem: Problem) -> None:
        going = build(problem.space, problem.objectives, seed=6)
        waiting = []
        for _ in range(5):  # three asked, the two newest told, out of order: one more pending each time
            oldest, *rest = going.ask(3)
            waiting.append(oldest)
            for proposal in reversed(rest):
                going.tell(problem.result(proposal.architecture, proposal.id))
        resumed = build(problem.space, problem.objectives, seed=6)
        resumed.restore(list(going.history), waiting)
        assert going.ask(2) == resumed.ask(2)
        for searcher in (going, resumed):  # and goes on so when a pending one comes in
            searcher.tell(problem.result(waiting[0].architecture, waiting[0].id))
        assert going.ask(2) == resumed.ask(2)

    def test_resumes_with_results_nobody_asked_for(self, build: Build, problem: Problem) -> None:
        extras = [problem.result(a, origin="cache") for a in _some(problem, 20, 26)]
        going = build(problem.space, problem.objectives, seed=7)
        for extra in extras:
            going.tell(extra)
            problem.run(going, 1)
        resumed = build(problem.space, problem.objectives, seed=7)
        resumed.restore(list(going.history))
        assert problem.run(going, 3) == problem.run(resumed, 3)

    def test_goes_on_with_what_another_driver_asked(self, build: Build, problem: Problem) -> None:
        """Two searchers by turns, each told of what the other asked: as one that asked all; an ask that came too late is as if
        it had not been."""
        one, two = (build(problem.space, problem.objectives, seed=8) for _ in range(2))
        alone = build(problem.space, problem.objectives, seed=8)
        for turn in range(TRIALS):
            asking, other = (one, two) if turn % 2 else (two, one)
            (late,) = other.ask()
            (trial,) = asking.ask()
            assert alone.ask() == [trial] == [late]
            other.retract(late)
            other.adopt(trial)
            result = problem.result(trial.architecture, trial.id, budget=trial.budget, continues=trial.continues)
            for searcher in (one, two, alone):
                searcher.tell(result)
        restored = build(problem.space, problem.objectives, seed=8)
        restored.restore(alone.history)
        last = [searcher.ask(2) for searcher in (one, two, alone, restored)]
        assert all(asked == last[0] for asked in last)

    def test_restore_wants_a_new_searcher(self, build: Build, problem: Problem) -> None:
        searcher = build(problem.space, problem.objectives)
        searcher.ask()
        message = _refused(lambda: searcher.restore([]))
        assert "`restore`" in message

    def test_takes_results_nobody_asked_for(self, build: Build, problem: Problem) -> None:
        searcher = build(problem.space, problem.objectives)
        taken, left = _some(problem, 0, 2)
        extra = problem.result(taken, origin="sweep")
        searcher.tell(extra)
        if searcher.takes_extra:
            assert searcher.history == [extra]
            assert searcher.front() == [extra]
            assert (taken.key, None) in searcher.seen
        else:
            assert not searcher.history
            assert not searcher.seen
        assert searcher.asked == 0, "a result nobody asked for is no trial"
        searcher.tell(problem.result(left, origin="sweep", values={problem.objectives[0].name: 0.5}))
        assert (left.key, None) not in searcher.seen, "a result that lacks an objective is none"

    def test_declines_results_nobody_asked_for(self, build: Build, problem: Problem) -> None:
        plain = build(problem.space, problem.objectives, seed=2, take_extra=False)
        told = build(problem.space, problem.objectives, seed=2, take_extra=False)
        for architecture in _some(problem, 30, 50):
            told.tell(problem.result(architecture, origin="sweep"))
        assert not told.history
        assert problem.run(plain, TRIALS) == problem.run(told, TRIALS)

    def test_a_result_of_another_space_only_counts_as_seen(self, build: Build, tiny: Problem) -> None:
        searcher = build(tiny.space, tiny.objectives)
        largest = tiny.space.largest()
        elsewhere = Architecture("elsewhere", largest.choices, largest.key)
        searcher.tell(replace(tiny.result(largest, origin="cache"), architecture=elsewhere))
        assert not searcher.history
        assert ((largest.key, None) in searcher.seen) == searcher.takes_extra
        if searcher.takes_extra:
            assert largest.key not in _keys(tiny.run(searcher, TRIALS))

    def test_never_repeats_while_anything_is_left_and_then_ends(self, build: Build, tiny: Problem) -> None:
        keys = {a.key for a in tiny.space.every()}
        searcher = build(tiny.space, tiny.objectives)
        asked = tiny.run(searcher, len(keys) + 3)
        assert len(asked) == len(keys)
        assert set(_keys(asked)) == keys
        assert searcher.ask(5) == []
        found = np.unique(searcher.points(searcher.front()), axis=0)
        assert np.array_equal(found, tiny.front()), "all was evaluated, and the front is not the true one"

    def test_asking_ends_without_results_too(self, build: Build, tiny: Problem) -> None:
        searcher = build(tiny.space, tiny.objectives)
        keys = {a.key for a in tiny.space.every()}
        assert len(searcher.ask(len(keys) + 5)) == len(keys)
        assert searcher.ask() == []

    def test_failed_and_infeasible_results_are_survived_and_no_numbers(self, build: Build, problem: Problem) -> None:
        searcher = build(problem.space, problem.objectives)
        first = problem.objectives[0].name
        for number in range(TRIALS):
            for asked in searcher.ask():
                changes: dict[str, Any] = {}
                if number % 4 == 1:
                    changes = {"status": "failed", "values": {}, "reason": "out of memory"}
                elif number % 5 == 3:
                    known = {first: problem.evaluate(asked.architecture)[first]}
                    changes = {"status": "infeasible", "values": known, "reason": f"{first} 9 > 8"}
                searcher.tell(problem.result(asked.architecture, asked.id, **changes))
        assert searcher.asked == TRIALS
        assert all(r.status == "complete" for r in searcher.front())
        assert len(searcher.complete()) < TRIALS

    def test_all_failing_is_survived(self, build: Build, problem: Problem) -> None:
        for status in ("failed", "infeasible"):
            searcher = build(problem.space, problem.objectives)
            for _ in range(TRIALS):
                for asked in searcher.ask():
                    searcher.tell(problem.result(asked.architecture, asked.id, status=status, values={}, reason="as asked"))
            assert searcher.asked == TRIALS
            assert searcher.front() == []

    def test_a_complete_result_needs_finite_numbers(self, build: Build, tiny: Problem) -> None:
        name = tiny.objectives[1].name
        for value in (math.nan, math.inf, None):
            searcher = build(tiny.space, tiny.objectives)
            (asked,) = searcher.ask()
            values = {n: v for n, v in {**tiny.evaluate(asked.architecture), name: value}.items() if v is not None}
            result = tiny.result(asked.architecture, asked.id, values=values)
            message = _refused(lambda s=searcher, r=result: s.tell(r))  # type: ignore[misc]
            assert f"`{name}`" in message
            assert "failed" in message

    def test_any_number_of_objectives_or_a_sentence_why_not(self, build: Build, problem: Problem) -> None:
        names = list(problem.evaluate(problem.space.largest()))
        for count in range(1, len(names) + 1):
            some = problem.seeking(*map(Objective, names[:count]))
            try:
                searcher = build(some.space, some.objectives)
            except ConfigurationError:
                assert "objective" in _refused(lambda p=some: build(p.space, p.objectives))  # type: ignore[misc]
                continue
            assert len(set(_keys(some.run(searcher, TRIALS)))) == TRIALS
        assert "objective" in _refused(lambda: build(problem.space, ()))

    def test_larger_is_better_where_the_objective_says_so(self, build: Build, problem: Problem) -> None:
        names = [o.name for o in problem.objectives]
        problem = problem.seeking(*(Objective(name, "max") for name in names))
        searcher = build(problem.space, problem.objectives)
        problem.run(searcher, TRIALS)
        best = max(problem.evaluate(r.architecture)[names[-1]] for r in searcher.history)
        assert best in {r.values[names[-1]] for r in searcher.front()}


def _refused(call: Callable[[], object]) -> str:
    """The sentence of the ConfigurationError that the call must raise."""
    try:
        call()
    except ConfigurationError as refusal:
        return str(refusal)
    raise AssertionError("a ConfigurationError was expected, none was raised")
