"""Every searcher, under one contract, on spaces of every kind. A new searcher or space is a line in a list."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from secateur.predictors import Dngo, MlpEnsemble
from secateur.search import Bohb, Ehvi, Evolution, Hyperband, LocalSearch, MoRea, Nsga2, Random
from secateur.search.model import ModelSearcher
from secateur.search.model_based import BANANAS, BO_DNGO, ModelBased
from secateur.spaces.decoder import Decoder
from secateur.testing.searchers import Build, SearcherContract
from secateur.testing.toys import SPACES, Problem, ToyDecoders, toy


class QuickEhvi(Ehvi):
    """With few candidates: their number is no matter of the space."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.pool.draws = 30


def quick(setting: ModelBased, **options: Any) -> Build:
    """With few candidates and a small predictor."""

    def build(space: Any, *args: Any, **more: Any) -> ModelSearcher:
        searcher = setting(space, *args, **{"initial": 4, **options, **more})
        searcher.pool.draws = searcher.pool.children = 30
        return searcher

    return build


# Small populations and starts: the runs of the contract are short, and all must get past the first, random phase.
SEARCHERS = {
    "random": Random,
    "local": LocalSearch,
    "mo-rea": partial(MoRea, population=5, sample=3),
    "nsga2": partial(Nsga2, population=4),
    "ehvi": partial(QuickEhvi, initial=4, iterations=8),
    "bo-dngo": quick(BO_DNGO, predictor=Dngo(width=5, layers=1, steps=10)),
    "bananas": quick(BANANAS, predictor=MlpEnsemble(2, width=5, layers=1, steps=10), refit=3),
    "hyperband, one rung": partial(Hyperband, least=9.0, most=9.0),
    "bohb, one rung": partial(Bohb, least=9.0, most=9.0),
    "evolution": partial(Evolution, population=4, parents=2, mutations=2, crossovers=2),
    "evolution, hull": partial(Evolution, population=4, parents=2, mutations=1, crossovers=2, hull=True),
}
MIDDLE = Decoder(layers="1..4", width="32..96:32", inner="64..256:64", heads=(2, 4), embedding=(0, 32, 64), factor=(1, 2))
TINY = Decoder(layers="1..2", width=(8, 16), inner=(16, 32), heads=1, embedding=(0, 8), factor=1)
#: A problem, and one of the kind that is small enough to be asked to its end.
PROBLEMS = {
    "pruning": (toy("medium"), toy("sublayer")),
    "decoders": (ToyDecoders(MIDDLE), ToyDecoders(TINY)),
}


@pytest.fixture(params=SEARCHERS.values(), ids=SEARCHERS)
def build(request: pytest.FixtureRequest) -> Build:
    return request.param


@pytest.fixture(params=PROBLEMS.values(), ids=PROBLEMS)
def problems(request: pytest.FixtureRequest) -> tuple[Problem, Problem]:
    return request.param


class TestContract(SearcherContract):
    @pytest.fixture
    def problem(self, problems: tuple[Problem, Problem]) -> Problem:
        return problems[0]

    @pytest.fixture
    def tiny(self, problems: tuple[Problem, Problem]) -> Problem:
        return problems[1]


OTHERS = [*map(toy, SPACES), ToyDecoders(Decoder("transformer_xl", homogeneous=True))]


@pytest.mark.parametrize("problem", OTHERS, ids=[*SPACES, "homogeneous decoders"])
def test_proposals_are_new_and_inside_every_space(build: Build, problem: Problem) -> None:
    SearcherContract().test_proposals_are_numbered_new_and_inside_the_space(build, problem)
