"""Architectures of a wanted size."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.catalogue import find
from secateur.rng import generator
from secateur.search import Aim, LocalSearch, Random
from secateur.spaces.pruning import Plan, Shape, Small
from secateur.spaces.pruning.sizes import aimed, largest_below
from secateur.testing.toys import toy

SHAPE = Shape(layers=4, heads=6, units=40)
SPACES = ["small", "medium", "layer", "sublayer", "large"]


def cost(plan: Plan) -> float:
    return float(sum(10 * p.heads.count + p.units.count for p in plan.layers))


WHOLE = cost(Plan.whole(SHAPE))


@pytest.mark.parametrize("name", SPACES)
def test_lines_lead_from_the_smallest_to_the_largest(name: str) -> None:
    space = find("space", name)(SHAPE)
    for seed in range(5):
        line = space.line(1 - generator(seed, "line").random(space.dimensions), least=bool(seed % 2))
        assert line(1.0) == space.largest()
        costs = [cost(space.plan(line(at))) for at in np.linspace(0, 1, 50)]
        assert costs == sorted(costs)
        assert space.contains(line(0.37))


@pytest.mark.parametrize("name", SPACES)
def test_the_largest_below_a_limit_by_trying_all(name: str) -> None:
    space = find("space", name)(SHAPE)
    for seed in range(5):
        line = space.line(1 - generator(seed, "line").random(space.dimensions))
        every = [cost(space.plan(line(at))) for at in np.linspace(0, 1, 4001)]
        for limit in (0.15 * WHOLE, 0.5 * WHOLE, WHOLE):
            found = largest_below(space, line, cost, limit)
            assert found is not None
            assert max(c for c in every if c <= limit) <= cost(space.plan(found)) <= limit  # some lie between the steps


def test_none_where_the_first_is_too_large() -> None:
    space = Small(SHAPE, layers="2..4", heads="3..", units="20..")
    assert largest_below(space, space.line(np.ones(3)), cost, 10.0) is None
    assert aimed(space, cost, [10.0])(generator(0)) == space.smallest()


@pytest.mark.parametrize("name", ["small", "medium", "large"])
def test_draws_meet_the_levels(name: str) -> None:
    """Most lie between half of a level and the level, of each as many; uniform draws hardly meet the small one."""
    space, limits = find("space", name)(SHAPE), [0.1 * WHOLE, 0.5 * WHOLE]
    draw = aimed(space, cost, limits)
    drawn = [cost(space.plan(draw(generator(i, "draw")))) for i in range(200)]
    below = [c for c in drawn if c <= limits[0]]
    assert 60 <= len(below) <= 140
    assert sum(c >= 0.5 * limits[0] for c in below) > 0.8 * len(below)
    assert sum(0.5 * limits[1] <= c <= limits[1] for c in drawn) > 0.8 * (200 - len(below))
    assert len(set(drawn)) > 5
    assert all(draw(generator(i, "draw")) != space.smallest() for i in range(20))


def test_small_is_drawn_at_full_depth() -> None:
    draw = aimed(Small(SHAPE), cost, [0.3 * WHOLE])
    assert {dict(draw(generator(i, "depth")).choices)["layers"] for i in range(20)} == {4}


@pytest.mark.parametrize("kind", [Random, LocalSearch])
def test_a_share_of_the_proposals_is_aimed(kind: type[Random]) -> None:
    """By (seed, number of the proposal): also after a resume. None is proposed twice."""
    problem = toy("medium", shape=Shape(3, 4, 6))
    limit = 30.0

    def small(architecture: Architecture) -> bool:
        return 0 < cost(problem.space.plan(architecture)) <= limit

    aim = Aim(aimed(problem.space, cost, [limit]), 0.5)
    searcher = kind(problem.space, problem.objectives, 3, True, aim)
    asked = problem.run(searcher, 60)
    plain = problem.run(kind(problem.space, problem.objectives, 3, True), 60)
    assert len({a.key for a in asked}) == 60
    assert sum(map(small, asked)) >= 15 + sum(map(small, plain))
    resumed = kind(problem.space, problem.objectives, 3, True, aim)
    resumed.restore(list(searcher.history)[:30])
    assert resumed.ask(1)[0].architecture == asked[30]
