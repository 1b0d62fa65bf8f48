from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from secateur.catalogue import find
from secateur.errors import ConfigurationError
from secateur.pareto import ranks
from secateur.rng import generator
from secateur.search import MoRea, Random
from secateur.spaces.pruning import Large, Shape
from secateur.testing.toys import Toy, toy

SHAPE = Shape(3, 4, 6)


def test_random_until_the_population_is_full() -> None:
    problem = toy("medium", shape=SHAPE)
    evolved = problem.run(MoRea(problem.space, problem.objectives, seed=3, population=8, sample=2), 20)
    drawn = problem.run(Random(problem.space, problem.objectives, seed=3), 20)
    assert evolved[:8] == drawn[:8]
    assert evolved[8] != drawn[8]


def test_the_oldest_leaves() -> None:
    problem = toy("medium", shape=SHAPE)
    searcher = MoRea(problem.space, problem.objectives, population=6, sample=2)
    problem.run(searcher, 15)
    assert list(searcher.members) == searcher.history[-6:]


def test_the_best_of_the_sample_is_mutated_in_one_dimension() -> None:
    problem = toy("medium", shape=SHAPE)
    searcher = MoRea(problem.space, problem.objectives, population=8, sample=8)
    problem.run(searcher, 8)
    for _ in range(20):  # the sample is the whole population: a parent must be of rank 0
        population = list(searcher.members)
        rank = ranks(searcher.points(population))
        parents = [r.architecture for r, k in zip(population, rank, strict=True) if k == 0]
        near = {n for p in parents for n in problem.space.neighbours(p)}
        (child,) = problem.run(searcher, 1)
        assert child in near


def test_ties_are_broken_at_random() -> None:
    problem = toy("medium", shape=SHAPE)
    for_seeds = set()
    for seed in range(20):
        searcher = MoRea(problem.space, problem.objectives, seed=seed, population=2, sample=2)
        for architecture in (problem.space.smallest(), problem.space.largest()):  # neither dominates the other
            searcher.tell(problem.result(architecture, origin="cache"))
        (child,) = problem.run(searcher, 1)
        for_seeds.add(child in set(problem.space.neighbours(problem.space.smallest())))
    assert for_seeds == {True, False}


def test_golden_front() -> None:
    problem = toy("medium", shape=SHAPE)
    searcher = MoRea(problem.space, problem.objectives, seed=1, population=8, sample=4)
    asked = problem.run(searcher, 24)
    assert sorted(str(r.architecture) for r in searcher.front()) == [
        "medium(heads=1·0·0, units=2·0·0)",
        "medium(heads=1·0·0, units=5·0·0)",
        "medium(heads=1·2·0, units=5·0·0)",
        "medium(heads=1·2·1, units=5·0·0)",
        "medium(heads=3·2·1, units=0·4·0)",
        "medium(heads=4·0·1, units=3·4·1)",
        "medium(heads=4·1·1, units=3·4·1)",
        "medium(heads=4·4·0, units=4·2·3)",
        "medium(heads=4·4·2, units=4·3·1)",
        "medium(heads=4·4·2, units=4·5·6)",
        "medium(heads=4·4·4, units=4·2·1)",
        "medium(heads=4·4·4, units=4·2·3)",
        "medium(heads=4·4·4, units=4·5·1)",
    ]
    assert problem.hypervolume(asked, np.array([1.0, 36.0])) == pytest.approx(26.26476536828687, rel=1e-12)


@pytest.mark.parametrize("sample", [0, 11])
def test_the_sample_is_of_the_population(sample: int) -> None:
    problem = toy()
    with pytest.raises(ConfigurationError, match=f"`sample` must lie in 1…`population` .10., got {sample}"):
        MoRea(problem.space, problem.objectives, population=10, sample=sample)


def test_serves_large() -> None:
    problem = Toy.of(Large(Shape(12, 12, 3072)))
    assert len(problem.run(MoRea(problem.space, problem.objectives, population=2, sample=1), 4)) == 4


@pytest.mark.parametrize("kind", ["mo-rea", "nsga2"])
def test_a_population_has_one_budget(kind: str) -> None:
    """Values at a smaller budget leave when the first at a larger one comes in, and come back no more."""
    problem = toy("medium")
    searcher = find("searcher", kind)(problem.space, problem.objectives)
    for place, budget in enumerate((1.0, 1.0, 9.0, 1.0, 9.0)):
        told = problem.result(problem.space.sample(generator(0, place)), origin="cache")
        searcher.tell(replace(told, budget=budget))
    population = searcher.members if kind == "mo-rea" else searcher._population
    assert len(population) == 2
