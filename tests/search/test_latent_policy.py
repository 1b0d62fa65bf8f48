"""REINFORCE in an encoding: its policy, what it learns, and the contract."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from secateur.catalogue import find_searcher
from secateur.encodings.named import encoding_of, standardised
from secateur.encodings.nearby import Nearby
from secateur.encodings.surroundings import surroundings
from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.search import Random, Reinforce
from secateur.search.latent_policy import LatentPolicy
from secateur.search.ways import Going
from secateur.spaces.cells import Darts, NasBench201
from secateur.testing.searchers import Build, SearcherContract
from secateur.testing.toys import Toy, toy

PLACES = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])


class TestContract(SearcherContract):
    @pytest.fixture
    def build(self) -> Build:
        kind = find_searcher("reinforce:vector")
        return lambda *given, **more: kind(*given, batch=4, **more)

    @pytest.fixture
    def problem(self) -> Toy:
        return toy("medium").seeking(Objective("error"))

    @pytest.fixture
    def tiny(self) -> Toy:
        return toy("sublayer").seeking(Objective("error"))

    def test_a_complete_result_needs_finite_numbers(self, build: Build, problem: Toy) -> None:  # type: ignore[override]
        searcher = build(problem.space, problem.objectives)
        (asked,) = searcher.ask()
        with pytest.raises(ConfigurationError, match="`error`"):
            searcher.tell(problem.result(asked.architecture, asked.id, values={"error": float("nan")}))


def test_draws_are_normal_around_the_mean() -> None:
    policy = LatentPolicy(2, np.random.default_rng(0), deviation=0.5)
    mean = policy.means(PLACES)[-1].detach().numpy()
    drawn = policy.draw(20_000, PLACES, np.random.default_rng(1))
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.02)
    assert np.cov(drawn.T) == pytest.approx(0.25 * np.eye(2), abs=0.02)


def test_a_step_follows_the_gradient_of_the_likelihood() -> None:
    """Against torch's own normal distribution: Adam's first step is the rate times the sign of the gradient."""
    policy = LatentPolicy(2, np.random.default_rng(0), rate=0.01, deviation=0.7)
    advantages = np.array([1.0, -0.5])
    before = [weights.detach().clone() for weights in policy.parameters()]
    normal = torch.distributions.Normal(policy.means(PLACES[:-1]), 0.7)
    gain = (torch.tensor(advantages).float()[:, None] * normal.log_prob(torch.from_numpy(PLACES[1:]).float())).sum()
    gradients = torch.autograd.grad(gain, list(policy.parameters()))
    policy.learn(PLACES, advantages)
    for old, new, gradient in zip(before, policy.parameters(), gradients, strict=True):
        large = gradient.abs() > 1e-4
        assert torch.allclose((new - old)[large], 0.01 * gradient.sign()[large], atol=1e-4)


def test_rewards_count_for_what_came_before() -> None:
    space = NasBench201()
    view = Nearby(space, encoding_of(space, "adjacency"))
    way = Going(view, 0, rate=0.01, deviation=1.0, discount=0.8)
    learnt: list[tuple[np.ndarray, np.ndarray]] = []
    way._policy.learn = lambda visited, returns: learnt.append((visited, returns))  # type: ignore[method-assign]
    tried = space.sample_many(3, np.random.default_rng(0))
    way.learn(tried, np.array([1.0, 0.0, -1.0]))
    way.learn(tried[:1], np.array([0.5]))
    vectors = standardised(space, view.encoding).encode(tried)
    assert learnt[0][1] == pytest.approx([1 - 0.64, -0.8, -1])
    assert np.array_equal(learnt[0][0], np.concatenate([np.zeros((1, vectors.shape[1])), vectors]))
    assert np.array_equal(learnt[1][0], vectors[[2, 0]]), "an episode begins where the last one ended"


def test_an_episode_is_learnt_once() -> None:
    problem = toy("medium").seeking(Objective("error"))
    searcher = find_searcher("reinforce:vector")(problem.space, problem.objectives, batch=4)
    steps: list[int] = []
    searcher._way.learn = lambda tried, rewards: steps.append(len(tried))
    problem.run(searcher, 10)
    assert steps == [4, 4]
    assert len(searcher._latest) == 2


def test_the_nearest_new_architecture_is_tried() -> None:
    space = NasBench201()
    searcher = find_searcher("reinforce:path")(space, [Objective("value")], seed=2)
    assert isinstance(searcher, Reinforce)
    assert (searcher.rate, searcher.batch) == (0.03, 16)
    from secateur.rng import generator

    rng = generator(2, "ask", 0)
    encoding = standardised(space, encoding_of(space, "path"))
    point = searcher._way._policy.draw(4, np.zeros((1, encoding.dimensions)), rng)[0]
    (asked,) = searcher.ask()
    every = list(space.every())
    gaps = ((encoding.encode(every) - point) ** 2).sum(axis=1)
    assert ((encoding.encode([asked.architecture])[0] - point) ** 2).sum() == pytest.approx(gaps.min(), rel=1e-3)
    assert next(surroundings(space, encoding).nearest(point, generator(0))).key in {every[i].key for i in np.argsort(gaps)[:5]}


def test_learns_where_good_cells_are() -> None:
    """The values of cells add up over edges: later draws are better than random ones."""
    space = NasBench201(merged=False)

    class Cells(Toy):
        def evaluate(self, architecture):  # type: ignore[no-untyped-def]
            return {"value": float(np.sum(space.values(architecture) == 3))}

    problem = Cells(space, (Objective("value", "max"),))
    going = find_searcher("reinforce:adjacency")(space, problem.objectives, seed=1)
    found = [problem.evaluate(a)["value"] for a in problem.run(going, 320)]
    drawn = [problem.evaluate(a)["value"] for a in problem.run(Random(space, problem.objectives, seed=1), 120)]
    assert np.mean(found[200:]) > np.mean(drawn) + 1


def test_what_it_cannot_do() -> None:
    kind = find_searcher("reinforce:vector")
    with pytest.raises(ConfigurationError, match="`reinforce` follows one reward"):
        kind(toy("medium").space, [Objective("error"), Objective("parameters")])
    for wrong in ({"deviation": 0.0}, {"discount": 1.5}):
        with pytest.raises(ConfigurationError, match="`deviation` must be above 0 and `discount` lie in 0…1"):
            kind(toy("medium").space, [Objective("error")], **wrong)
    assert len(kind(Darts(), [Objective("error")]).ask(2)) == 2
