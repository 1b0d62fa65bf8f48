from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.search import Random, Reinforce
from secateur.search.policy import Policy
from secateur.spaces.cells import NasBench101, NasBench201
from secateur.spaces.pool import Pool
from secateur.spaces.pruning import Large, Shape
from secateur.testing.searchers import Build, SearcherContract
from secateur.testing.toys import Toy, toy

COUNTS = (2, 3, 2)
EVERY = np.array(list(product(*map(range, COUNTS))))


def one(space: str) -> Toy:
    return toy(space).seeking(Objective("error"))


class TestContract(SearcherContract):
    @pytest.fixture
    def build(self) -> Build:
        return Reinforce

    @pytest.fixture
    def problem(self) -> Toy:
        return one("medium")

    @pytest.fixture
    def tiny(self) -> Toy:
        return one("sublayer")

    def test_a_complete_result_needs_finite_numbers(self) -> None:  # type: ignore[override]
        problem = one("medium")
        searcher = Reinforce(problem.space, problem.objectives)
        (asked,) = searcher.ask()
        with pytest.raises(ConfigurationError, match="`error`"):
            searcher.tell(problem.result(asked.architecture, asked.id, values={"error": float("nan")}))


def policy(seed: int = 0) -> Policy:
    return Policy(COUNTS, np.random.default_rng(seed), rate=0.05)


def chances(of: Policy, sequences: np.ndarray = EVERY) -> np.ndarray:
    """Of whole sequences, by the chain rule."""
    begin = np.array([0, 2, 5])
    logs = of.log_shares(sequences).detach().numpy()
    return np.exp(sum(logs[np.arange(len(sequences)), step, begin[step] + sequences[:, step]] for step in range(3)))


def test_chances_add_up_and_draws_follow_them() -> None:
    trained = policy()
    for _ in range(10):
        trained.learn(EVERY[[3, 7]], np.array([1.0, 0.5]), 0.0)
    expected = chances(trained)
    assert expected.sum() == pytest.approx(1)
    assert expected.max() > 2 / len(EVERY)
    drawn = trained.draw(20_000, 1.0, np.random.default_rng(1))
    found = [np.all(drawn == sequence, axis=1).mean() for sequence in EVERY]
    assert found == pytest.approx(expected, abs=0.012)
    hot = trained.draw(20_000, 1e6, np.random.default_rng(1))
    assert [np.all(hot == s, axis=1).mean() for s in EVERY] == pytest.approx(np.full(12, 1 / 12), abs=0.012)


def test_what_is_better_becomes_likelier() -> None:
    trained = Policy(COUNTS, np.random.default_rng(0), rate=0.003)
    before = chances(trained)
    for _ in range(3):
        trained.learn(EVERY[[2, 9]], np.array([1.0, -1.0]), 0.0)
    after = chances(trained)
    assert after[2] > before[2]
    assert after[9] < before[9]


def test_a_choice_without_effect_teaches_nothing() -> None:
    plain, masked = policy(), policy()
    for _ in range(5):
        plain.learn(np.array([[1, 2, 1]]), np.array([1.0]), 0.0)
        masked.learn(np.array([[1, 2, -1]]), np.array([1.0]), 0.0)
    last = [of.log_shares(np.array([[1, 2, 0]])).detach().numpy()[0, 2, 5:] for of in (policy(), plain, masked)]
    assert abs(last[2][1] - last[0][1]) < abs(last[1][1] - last[0][1]) / 2


def test_entropy_keeps_the_policy_open() -> None:
    closed, kept = policy(), policy()
    for _ in range(40):
        closed.learn(EVERY[[4]], np.array([1.0]), 0.0)
        kept.learn(EVERY[[4]], np.array([1.0]), 1.0)
    assert chances(closed)[4] > chances(kept)[4] > 1 / 12


def test_learns_where_good_cells_are() -> None:
    """The values of cells add up over edges: later draws are better than random ones."""
    space = NasBench201(merged=False)

    class Cells(Toy):
        def evaluate(self, architecture):  # type: ignore[no-untyped-def]
            return {"value": float(np.sum(space.values(architecture) == 3))}

    problem = Cells(space, (Objective("value", "max"),))
    found = [problem.evaluate(a)["value"] for a in problem.run(Reinforce(space, problem.objectives, seed=1), 120)]
    drawn = [problem.evaluate(a)["value"] for a in problem.run(Random(space, problem.objectives, seed=1), 120)]
    assert np.mean(found[80:]) > np.mean(drawn) + 1


def test_cells_of_nasbench101_are_spelt() -> None:
    space = NasBench101(nodes="2..5", edges="1..6")
    rng = np.random.default_rng(0)
    for cell in space.sample_many(50, rng):
        assert space.from_indices(space.indices(cell)) == cell
    assert len(space.counts) == space.dimensions == len(space.indices(space.largest()))
    assert space.from_indices(np.zeros(space.dimensions, dtype=np.int64)) is None
    pool = Pool(space, space.sample_many(60, rng))
    for searched in (space, pool):
        asked = Reinforce(searched, [Objective("value")]).ask(12)
        assert len({t.key for t in asked}) == 12
        assert all(searched.contains(t.architecture) for t in asked)


@pytest.mark.parametrize(
    ("searched", "objectives", "said"),
    [
        (toy("medium").space, ["error", "parameters"], "`reinforce` follows one reward, so it takes one objective, got 2"),
        (Large(Shape(2, 4, 100)), ["error"], "`reinforce` needs a space of at most 100 choices, `large` has 208 here"),
    ],
)
def test_what_it_cannot_do(searched: object, objectives: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Reinforce(searched, list(map(Objective, objectives)))  # type: ignore[arg-type]
