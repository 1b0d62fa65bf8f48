from __future__ import annotations

import numpy as np
import pytest

from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.predictors import Dngo
from secateur.rng import generator
from secateur.search import ModelSearcher
from secateur.search.acquisitions import predicted_mean
from secateur.search.model_based import BO_DNGO, DNGO_LS
from secateur.search.rounds import Rounds
from secateur.spaces.cells import NasBench201
from secateur.testing.toys import Toy
from secateur.trial import Trial

ONE, TWO = (Objective("value"),), (Objective("value"), Objective("cost"))
SPACE = NasBench201(merged=False)
SOME = list({a.key: a for a in SPACE.sample_many(80, generator(0))}.values())[:60]


def told(values: list[float], costs: list[float] | None = None) -> list[Trial]:
    rows = zip(values, costs or values, strict=True)
    return [Trial(i, SOME[i], values={"value": v, "cost": c}) for i, (v, c) in enumerate(rows)]


def plan(rounds: Rounds, trials: list[Trial]) -> list[tuple[int, int | None]]:
    """Of each proposal, told one after the other: where its round begins, and the number of what it is a neighbour of."""
    found = []
    for asked in range(len(trials)):
        base = rounds.base(asked, trials[:asked])
        number = None if base is None else next(t.id for t in trials if t.architecture == base)
        found.append((rounds.first(asked, trials[:asked]), number))
    return found


def test_by_hand() -> None:
    # 4 at random, of which 0 is the best; then two of a model, one of which is better than all but 0.
    values = [1.0, 5.0, 6.0, 7.0, 2.0, 9.0, 8.0, 0.5, 0.4, 3.0, 4.0, 9.0]
    found = plan(Rounds(ONE, initial=4, refit=2, around=2, seed=0), told(values))
    assert found[4:6] == [(4, None)] * 2
    assert found[6] == (4, 0)  # the best two are 0 and 4, and 4 is of this round
    assert found[7:9] == [(7, None)] * 2
    assert found[9:11] == [(9, None)] * 2  # 8 and 7 are the best two, both new: no neighbours
    assert found[11] == (9, 8)  # the next round brought nothing better: 8 and 7, the best first


def test_without_neighbours_rounds_are_of_one_length() -> None:
    trials = told(list(np.linspace(1, 0, 20)))
    rounds = Rounds(ONE, initial=4, refit=3, around=0, seed=0)
    assert [first for first, _ in plan(rounds, trials)] == [max(0, n - (n - 4) % 3) for n in range(20)]
    assert {base for _, base in plan(rounds, trials)} == {None}


@pytest.mark.parametrize("objectives", [ONE, TWO])
def test_what_is_remembered_makes_no_difference(objectives: tuple[Objective, ...]) -> None:
    """Told out of order, some never: one that was asked all along says what a new one says."""
    rng = np.random.default_rng(1)
    trials = told(rng.random(60).tolist(), rng.random(60).tolist())
    going = Rounds(objectives, 4, 3, 3, seed=5)
    history: list[Trial] = []
    waiting: list[Trial] = []
    for trial in trials:
        asked = trial.id
        assert asked is not None
        fresh = Rounds(objectives, 4, 3, 3, seed=5)
        assert going.first(asked, history) == fresh.first(asked, history)
        assert going.base(asked, history) == fresh.base(asked, history)
        waiting.append(trial)
        while waiting and rng.random() < 0.45:
            history.append(waiting.pop(int(rng.integers(len(waiting)))))


def test_the_front_stands_for_the_best() -> None:
    values, costs = [0.0, 1.0, 2.0, 3.0, 9.0, 9.0, 9.0], [3.0, 2.0, 1.0, 0.0, 9.0, 9.0, 9.0]
    trials = told(values, costs)
    rounds = Rounds(TWO, initial=4, refit=1, around=2, seed=0)
    bases = [rounds.base(asked, trials[:asked]) for asked in (5, 6)]
    assert all(base in SOME[:4] for base in bases)
    assert bases[0] != bases[1]
    assert rounds.base(7, trials) is None


class Sums(Toy):
    """The number of edges whose operation is the fourth: the more, the better."""

    def evaluate(self, architecture):  # type: ignore[no-untyped-def]
        return {"value": float(np.sum(SPACE.values(architecture) == 3))}


def searcher(**options: object) -> ModelSearcher:
    given = {"predictor": Dngo(width=8, layers=1, steps=20), "initial": 6, "refit": 3, "around": 3, **options}
    return DNGO_LS(SPACE, (Objective("value", "max"),), **given)


def test_neighbours_are_the_nearest_in_the_encoding() -> None:
    problem = Sums(SPACE, (Objective("value", "max"),))
    going = searcher()
    steps = 0
    for _ in range(30):
        base = going._rounds.base(going.asked, going.history)
        (asked,) = going.ask()
        if base is not None:
            near = ((going.encoding.encode([asked.architecture]) - going.encoding.encode([base])) ** 2).sum()
            assert near == 2, "one edit of one-hot bits"
            steps += 1
        going.tell(problem.result(asked.architecture, asked.id))
    assert 5 <= steps <= 20


def test_a_model_proposes_what_it_predicts_to_be_best() -> None:
    problem = Sums(SPACE, (Objective("value", "max"),))
    going = searcher(refit=2)
    problem.run(going, 6)
    known = list(going.history)
    asked = problem.run(going, 2)
    learnt = going._kept[1]
    assert learnt is not None
    every = [a for a in SPACE.every() if a.key not in {t.key for t in known}]
    means = learnt.fitted.normal.predict(going.encoding.encode(every))[0][:, 0]
    best = {every[i].key for i in np.argsort(-means)[:2]}
    assert means[[a.key for a in every].index(asked[1].key)] == pytest.approx(np.sort(means)[-2])
    assert len({a.key for a in asked} & best) >= 1
    assert going.acquisition is predicted_mean


def test_settings() -> None:
    made = DNGO_LS(SPACE, ONE)
    assert (made.refit, made._rounds.around, made.encoding.name) == (5, 5, "adjacency")
    assert DNGO_LS.encoded("path")(SPACE, ONE).encoding.name == "path"
    assert BO_DNGO(SPACE, ONE, refit=5).refit == 5
    with pytest.raises(ConfigurationError, match="`around` must be at least 0, got -1"):
        BO_DNGO(SPACE, ONE, around=-1)
