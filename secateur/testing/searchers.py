"""The contract of every Searcher, as a test class: subclass it and give `build` as a fixture.

    SEARCHERS = [Random, LocalSearch]

    @pytest.fixture(params=SEARCHERS, ids=lambda kind: kind.name)
    def build(request):
        return request.param

    class TestContract(SearcherContract):
        pass

`build` is the class itself, or any callable of the same signature: (space, objectives, seed, take_extra).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.search.base import Searcher
from secateur.testing.toys import Toy, toy
from secateur.trial import Trial

Build = Callable[..., Searcher]

#: Trials of one run: past the start-up phase of a searcher that `build` makes with small populations.
TRIALS = 10


def _keys(asked: Sequence[Architecture]) -> list[str]:
    return [a.key for a in asked]


def _outcome(problem: Toy, proposal: Trial) -> Trial:
    """A result of some status, by proposal number: every fourth fails, every fifth breaks a bound."""
    if (proposal.id or 0) % 4 == 1:
        return Trial(proposal.id, proposal.architecture, "failed", reason="out of memory")
    if (proposal.id or 0) % 5 == 3:
        known = {"parameters": problem.evaluate(proposal.architecture)["parameters"]}
        return Trial(proposal.id, proposal.architecture, "infeasible", values=known, reason="parameters 9 > 8")
    return problem.result(proposal.architecture, proposal.id)


class SearcherContract:
    """What a study relies on, whatever the searcher."""

    def test_same_seed_same_proposals(self, build: Build) -> None:
        problem = toy("medium")
        runs = [problem.run(build(problem.space, problem.objectives, seed=s), TRIALS) for s in (3, 3, 4)]
        assert runs[0] == runs[1]
        assert runs[0] != runs[2]

    def test_proposals_are_numbered_new_and_inside_the_space(self, build: Build) -> None:
        for name in ("small", "medium", "layer", "sublayer", "large"):
            problem = toy(name)
            searcher = build(problem.space, problem.objectives)
            proposals = [p for _ in range(4) for p in searcher.ask(3)]
            assert [p.id for p in proposals] == list(range(len(proposals)))
            assert all(problem.space.contains(p.architecture) for p in proposals)
            keys = [p.architecture.key for p in proposals]
            assert len(set(keys)) == len(keys), f"a key was asked twice in `{name}`"

    def test_resumes_as_if_never_stopped(self, build: Build) -> None:
        problem = toy("medium")
        for stop in (0, 1, TRIALS // 2, TRIALS - 1):
            going = build(problem.space, problem.objectives, seed=5)
            problem.run(going, stop)
            resumed = build(problem.space, problem.objectives, seed=5)
            resumed.restore(list(going.history))
            assert problem.run(going, 3) == problem.run(resumed, 3), f"the search went on differently after {stop} trials"

    def test_resumes_with_proposals_pending(self, build: Build) -> None:
        problem = toy("medium")
        going = build(problem.space, problem.objectives, seed=6)
        waiting: list[Trial] = []
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

    def test_resumes_with_results_nobody_asked_for(self, build: Build) -> None:
        problem = toy("medium")
        extras = [problem.result(a, origin="cache") for a in list(problem.space.every())[20:26]]
        going = build(problem.space, problem.objectives, seed=7)
        for extra in extras:
            going.tell(extra)
            problem.run(going, 1)
        resumed = build(problem.space, problem.objectives, seed=7)
        resumed.restore(list(going.history))
        assert problem.run(going, 3) == problem.run(resumed, 3)

    def test_restore_wants_a_new_searcher(self, build: Build) -> None:
        problem = toy()
        searcher = build(problem.space, problem.objectives)
        searcher.ask()
        message = _refused(lambda: searcher.restore([]))
        assert "`restore`" in message

    def test_takes_results_nobody_asked_for(self, build: Build) -> None:
        problem = toy()
        searcher = build(problem.space, problem.objectives)
        taken, left = list(problem.space.every())[-2:]
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
        searcher.tell(Trial(None, left, values={"error": 0.5}, origin="sweep"))
        assert (left.key, None) not in searcher.seen, "a result that lacks an objective is none"

    def test_declines_results_nobody_asked_for(self, build: Build) -> None:
        problem = toy("medium")
        plain = build(problem.space, problem.objectives, seed=2, take_extra=False)
        told = build(problem.space, problem.objectives, seed=2, take_extra=False)
        for architecture in list(problem.space.every())[30:50]:
            told.tell(problem.result(architecture, origin="sweep"))
        assert not told.history
        assert problem.run(plain, TRIALS) == problem.run(told, TRIALS)

    def test_a_result_of_another_space_only_counts_as_seen(self, build: Build) -> None:
        problem, other = toy("small"), toy("large")
        searcher = build(problem.space, problem.objectives)
        whole = other.space.largest()
        searcher.tell(other.result(whole, origin="cache"))
        assert not searcher.history
        assert ((whole.key, None) in searcher.seen) == searcher.takes_extra
        if searcher.takes_extra:
            assert whole.key not in _keys(problem.run(searcher, TRIALS))

    def test_never_repeats_while_anything_is_left_and_then_ends(self, build: Build) -> None:
        problem = toy("sublayer")
        keys = {a.key for a in problem.space.every()}
        searcher = build(problem.space, problem.objectives)
        asked = problem.run(searcher, len(keys) + 3)
        assert len(asked) == len(keys)
        assert set(_keys(asked)) == keys
        assert searcher.ask(5) == []
        found = np.unique(searcher.points(searcher.front()), axis=0)
        assert np.array_equal(found, problem.front()), "all was evaluated, and the front is not the true one"

    def test_asking_ends_without_results_too(self, build: Build) -> None:
        problem = toy("layer")
        searcher = build(problem.space, problem.objectives)
        assert len(searcher.ask(100)) == problem.space.size()
        assert searcher.ask() == []

    def test_failed_and_infeasible_results_are_survived_and_no_numbers(self, build: Build) -> None:
        problem = toy("medium")
        searcher = build(problem.space, problem.objectives)
        for _ in range(TRIALS):
            for proposal in searcher.ask():
                searcher.tell(_outcome(problem, proposal))
        assert searcher.asked == TRIALS
        assert all(r.status == "complete" for r in searcher.front())
        assert len(searcher.complete()) < TRIALS

    def test_all_failing_is_survived(self, build: Build) -> None:
        problem = toy("medium")
        for status in ("failed", "infeasible"):
            searcher = build(problem.space, problem.objectives)
            for _ in range(TRIALS):
                for proposal in searcher.ask():
                    searcher.tell(Trial(proposal.id, proposal.architecture, status, reason="as asked"))
            assert searcher.asked == TRIALS
            assert searcher.front() == []

    def test_a_complete_result_needs_finite_numbers(self, build: Build) -> None:
        problem = toy()
        for value in (math.nan, math.inf, None):
            searcher = build(problem.space, problem.objectives)
            (proposal,) = searcher.ask()
            values = problem.evaluate(proposal.architecture)
            if value is None:
                del values["parameters"]
            else:
                values["parameters"] = value
            result = Trial(proposal.id, proposal.architecture, values=values)
            message = _refused(lambda s=searcher, r=result: s.tell(r))  # type: ignore[misc]
            assert "`parameters`" in message
            assert "failed" in message

    def test_any_number_of_objectives_or_a_sentence_why_not(self, build: Build) -> None:
        for names in (
            ("error",),
            ("error", "parameters"),
            ("error", "parameters", "macs"),
            ("error", "parameters", "macs", "latency"),
        ):
            problem = toy("medium", *names)
            try:
                searcher = build(problem.space, problem.objectives)
            except ConfigurationError:
                assert "objective" in _refused(lambda p=problem: build(p.space, p.objectives))  # type: ignore[misc]
                continue
            assert len(set(_keys(problem.run(searcher, TRIALS)))) == TRIALS
        assert "objective" in _refused(lambda: build(toy().space, ()))

    def test_larger_is_better_where_the_objective_says_so(self, build: Build) -> None:
        problem = Toy(toy("medium").space, (Objective("error", "max"), Objective("parameters", "max")))
        searcher = build(problem.space, problem.objectives)
        problem.run(searcher, TRIALS)
        best = max(problem.evaluate(r.architecture)["parameters"] for r in searcher.history)
        assert best in {r.values["parameters"] for r in searcher.front()}


def _refused(call: Callable[[], object]) -> str:
    """The sentence of the ConfigurationError that the call must raise."""
    try:
        call()
    except ConfigurationError as refusal:
        return str(refusal)
    raise AssertionError("a ConfigurationError was expected, none was raised")
