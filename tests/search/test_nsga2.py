from __future__ import annotations

import sys

import numpy as np
import pytest

from secateur.errors import ConfigurationError, MissingExtraError
from secateur.rng import generator
from secateur.search import Nsga2, Random
from secateur.search.optuna_nsga2 import Population
from secateur.spaces.base import Space
from secateur.spaces.pool import Pool
from secateur.spaces.pruning import Large, Layer, Shape
from secateur.testing.toys import Toy, toy

SHAPE = Shape(4, 6, 12)


def test_beats_random_search() -> None:
    problem = toy("medium", shape=Shape(12, 6, 12))
    reference = np.array([1.001, 145.0])
    ratios = []
    for seed in range(4):
        bred = problem.run(Nsga2(problem.space, problem.objectives, seed=seed, population=20), 240)
        drawn = problem.run(Random(problem.space, problem.objectives, seed=seed), 240)
        ratios.append(problem.hypervolume(bred, reference) / problem.hypervolume(drawn, reference))
    assert np.mean(ratios) > 1.02


def test_what_a_gene_mutates_to_does_not_depend_on_the_crossover() -> None:
    population = Population([1000, 1000], objectives=2, population_size=2)
    for point in ([0, 0], [0, 0]):
        population.add(point, [0.5, 0.5])
    mutated = [v for seed in range(400) for v in population.child(seed) if v]
    assert len(mutated) > 200
    tenths = np.bincount(np.array(mutated) // 100, minlength=10) / len(mutated)
    assert tenths.min() > 0.05  # seeded alike, the last tenth would hardly ever come up


def test_children_come_from_the_parents() -> None:
    problem = toy("medium", shape=SHAPE)
    searcher = Nsga2(problem.space, problem.objectives, population=4)
    parents = problem.run(searcher, 4)
    values = np.stack([problem.space.values(a) for a in parents])
    # Each gene mutates with probability 1 / dimensions, so nearly all of a child is some parent's.
    children = [p.architecture for p in searcher.ask(30)]
    inherited = [np.mean(np.any(problem.space.values(c) == values, axis=0)) for c in children]
    assert np.mean(inherited) > 0.7


def test_serves_a_few_hundred_dimensions() -> None:
    problem = Toy.of(Layer(Shape(300, 2, 3)))
    assert len(set(problem.run(Nsga2(problem.space, problem.objectives, population=4), 10))) == 10


def test_refuses_what_it_cannot_serve() -> None:
    large = Toy.of(Large(Shape(12, 12, 3072)))
    with pytest.raises(ConfigurationError, match="`nsga2` needs a space of at most 1000 dimensions, `large` has 37008 here"):
        Nsga2(large.space, large.objectives)

    class Words(Space):  # not of whole numbers
        name = "words"

    Words.__abstractmethods__ = frozenset()
    with pytest.raises(ConfigurationError, match="`nsga2` needs a space of whole numbers, which `words` is not"):
        Nsga2(Words(), large.objectives)
    some = Pool(toy().space, toy().space.sample_many(3, generator(0)))
    with pytest.raises(ConfigurationError, match="`nsga2` needs a space of whole numbers, which a part of `small` is not"):
        Nsga2(some, large.objectives)
    with pytest.raises(ConfigurationError, match="`population` must be at least 2: a child has two parents, got 1"):
        Nsga2(toy().space, toy().objectives, population=1)


def test_says_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "secateur.search.optuna_nsga2", raising=False)
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        MissingExtraError, match=r"`optuna` is not installed. Install it with: pip install 'secateur\[search\]'"
    ):
        Nsga2(toy().space, toy().objectives)
