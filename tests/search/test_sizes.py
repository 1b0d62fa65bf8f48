"""How large populations are: as given, else as they fit the number of trials."""

from __future__ import annotations

from typing import Any

import pytest

from secateur.catalogue import find, names
from secateur.errors import ConfigurationError
from secateur.search import Evolution, MoRea, Random
from secateur.spaces.pruning import Shape
from secateur.testing.toys import toy


@pytest.mark.parametrize(
    ("searcher", "trials", "given", "expected"),
    [
        ("mo-rea", 100, {}, {"population": 10, "sample": 5}),  # Klein et al. 2024
        ("mo-rea", 20_000, {}, {"population": 100, "sample": 10}),  # Real et al. 2019
        ("mo-rea", 6, {}, {"population": 10, "sample": 5}),
        ("mo-rea", 500, {}, {"population": 50, "sample": 10}),
        ("mo-rea", 100, {"population": 3}, {"population": 3, "sample": 2}),
        ("mo-rea", 100, {"population": 1}, {"population": 1, "sample": 1}),
        ("mo-rea", 100, {"sample": 10}, {"population": 10, "sample": 10}),
        ("nsga2", 100, {}, {"population": 10}),
        ("nsga2", 20_000, {}, {"population": 50}),
        ("nsga2", 100, {"population": 16}, {"population": 16}),
        ("evolution", 2_500, {}, {"population": 100}),  # Javaheripi et al. 2022
        ("evolution", 300, {}, {"population": 30}),
        ("evolution", 300, {"population": 8}, {"population": 8}),
        ("random", 100, {}, {}),
        ("local", 100, {}, {}),
        ("ehvi", 100, {}, {}),
    ],
)
def test_sizes(searcher: str, trials: int, given: dict[str, int], expected: dict[str, int]) -> None:
    assert find("searcher", searcher).sizes(trials, **given) == expected


@pytest.mark.parametrize("searcher", names("searcher"))
def test_what_a_searcher_does_not_have_is_refused(searcher: str) -> None:
    kind = find("searcher", searcher)
    for name in {"population", "sample"} - set(kind.sizes(100)):
        with pytest.raises(ConfigurationError) as caught:
            kind.sizes(100, **{name: 5})
        assert str(caught.value) == f"`{name}` cannot be set: the searcher `{searcher}` has none."


@pytest.mark.parametrize(
    ("searcher", "given", "said"),
    [
        ("mo-rea", {"population": 4, "sample": 5}, r"`sample` must lie in 1…`population` \(4\), got 5"),
        ("nsga2", {"population": 1}, "`population` must be at least 2"),
        ("local", {"sample": 5}, "`sample` cannot be set: the searcher `local` has none"),
    ],
)
def test_sizes_that_cannot_be(searcher: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        find("searcher", searcher).sizes(100, **given)


def test_a_hundred_trials_of_mo_rea_are_no_random_search() -> None:
    """The first ten are; each later one is a neighbour of one of the ten told before it."""
    problem = toy("medium", shape=Shape(3, 4, 6))
    evolved = problem.run(MoRea(problem.space, problem.objectives, seed=3, **MoRea.sizes(100)), 100)
    drawn = problem.run(Random(problem.space, problem.objectives, seed=3), 100)
    assert evolved[:10] == drawn[:10]
    for place, child in enumerate(evolved[10:], 10):
        assert any(child in set(problem.space.neighbours(parent)) for parent in evolved[place - 10 : place])


def test_evolutions_children_go_with_its_population() -> None:
    problem = toy("medium", shape=Shape(3, 4, 6))
    searcher = Evolution(problem.space, problem.objectives, population=10)
    assert (searcher.mutations, searcher.children) == (4, 8)
    problem.run(searcher, 10)
    assert (searcher.iteration, len(searcher.parents)) == (1, 2)
    problem.run(searcher, 8)
    assert searcher.iteration == 2
