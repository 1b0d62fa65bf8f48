"""An estimator over a table, and a search on it."""

from __future__ import annotations

import pytest

from secateur.errors import DataError, UnknownNameError
from secateur.search.random import Random
from secateur.study import Stop, Study
from secateur.study.memory_store import MemoryStore
from secateur.tables import Table, TableEstimator
from secateur.testing.toys import toy
from secateur.trial import Trial


@pytest.fixture
def problem():
    return toy()


@pytest.fixture
def table(problem):
    """All of the toy's space but its largest architecture, at budgets 1 and 3, with two seeds."""
    every = [a for a in problem.space.every() if a.key != problem.space.largest().key]
    found = [problem.evaluate(a) for a in every]
    curve = [[2 * values["error"], values["error"]] for values in found]
    return Table(
        every * 2,
        {"parameters": [values["parameters"] for values in found] * 2},
        {"error": curve + [[1.5 * value for value in row] for row in curve]},
        [1, 3],
        seconds=[[1, 3]] * len(every) + [[2, 6]] * len(every),
        seed=[0] * len(every) + [1] * len(every),
    )


def test_a_search_on_it_finds_what_it_holds(problem, table):
    estimator = TableEstimator(table, ("error", "parameters"), seed=0)
    searcher = Random(problem.space, problem.objectives, seed=1)
    for proposal in searcher.ask(8):
        (found,) = estimator.evaluate([proposal.architecture])
        searcher.tell(Trial(proposal.id, proposal.architecture, values=found.values))
    assert len(searcher.history) == 8
    for result in searcher.history:
        assert result.values == table.values(result.architecture.key, seed=0)
        assert result.values.items() <= problem.evaluate(result.architecture).items()
    largest = problem.space.largest()
    assert estimator.evaluate([largest])[0].failure == f"`the table` has no network `{largest.key}`."
    assert (estimator.cost, estimator.yields) == (0, ("error", "parameters"))


def test_budgets_curves_seconds_and_seeds(problem, table):
    architecture = table.architectures[0]
    error = problem.evaluate(architecture)["error"]
    (found,) = TableEstimator(table, {"loss": "error"}).evaluate([architecture])  # the mean over both seeds
    assert found.values == {"loss": pytest.approx(1.25 * error)}
    assert [(budget, pytest.approx(v["loss"])) for budget, v in found.curve] == [(1, 2.5 * error), (3, 1.25 * error)]
    assert found.seconds == 4.5
    (early,) = TableEstimator(table, ["error", "parameters"], seed=1).evaluate([architecture], budget=1)
    assert early.values == {"error": 3 * error, "parameters": problem.evaluate(architecture)["parameters"]}
    assert (early.curve, early.seconds) == (((1.0, {"error": 3 * error}),), 2)
    (never,) = TableEstimator(table, ["error"]).evaluate([architecture], budget=2)
    assert never.failure == f"`the table` has no `error` of the network `{architecture.key}` at budget 2."
    (nobody,) = TableEstimator(table, ["error"], seed=9).evaluate([architecture])
    assert nobody.failure.endswith("with seed 9.")


def test_what_is_not_known_fails(problem):
    architecture = problem.space.smallest()
    table = Table([architecture], {"error": [float("nan")]})
    (found,) = TableEstimator(table, ["error"]).evaluate([architecture])
    assert found.failure == f"`the table` has no `error` of the network `{architecture.key}`."
    with pytest.raises(UnknownNameError, match=r"unknown column `eror`\. Did you mean `error`"):
        TableEstimator(table, ["eror"])


def test_the_fingerprint_holds_what_values_depend_on(table):
    made = [
        TableEstimator(table, ["error"]),
        TableEstimator(table, ["parameters"]),
        TableEstimator(table, {"loss": "error"}),
        TableEstimator(table, ["error"], seed=0),
        TableEstimator(table.take([0, 1]), ["error"]),
    ]
    assert len({estimator.fingerprint for estimator in made}) == len(made)
    assert TableEstimator(table.take(range(len(table))), ["error"]).fingerprint == made[0].fingerprint


def test_what_comes_beside_is_told_too(problem, table):
    """The shallower networks of `small` that the table holds; one that it lacks is left out."""
    deep = problem.space.make({"heads": 1, "units": 2, "layers": 2})
    shallower = problem.space.depths(deep)
    (found,) = TableEstimator(table, ["error", "parameters"], seed=0, beside=problem.space.depths).evaluate([deep])
    assert [a for a, _ in found.extra] == shallower
    assert all(values == table.values(a.key, seed=0) for a, values in found.extra)
    some = table.take([key != shallower[0].key for key in table.keys])
    (less,) = TableEstimator(some, ["error", "parameters"], seed=0, beside=problem.space.depths).evaluate([deep])
    assert less.extra == found.extra[1:]


def test_a_budget_of_its_own_and_a_simulated_clock(problem, table):
    """Where trials name no budget the estimator's own counts, and a study stops after the table's seconds, not the clock's."""
    estimator = TableEstimator(table, ("error", "parameters"), seed=1, budget=1)
    architecture = table.architectures[0]
    (found,) = estimator.evaluate([architecture])
    assert found == TableEstimator(table, ("error", "parameters"), seed=1).evaluate([architecture], budget=1)[0]
    assert found.seconds == 2
    assert estimator.fingerprint != TableEstimator(table, ("error", "parameters"), seed=1).fingerprint
    with pytest.raises(DataError, match=r"has no budget 2\. Its budgets: 1, 3\."):
        TableEstimator(table, ["error"], budget=2)
    study = Study(MemoryStore(), Random(problem.space, problem.objectives, seed=1), [estimator], problem.objectives)
    study.run(Stop(seconds=9))
    assert [t.seconds for t in study.trials() if t.complete] == [2, 2, 2, 2, 2]
