"""Searchers that draw or step in an encoding: the same classes, the same contract."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from secateur.catalogue import check_searcher, find_searcher, with_budgets
from secateur.encodings.nearby import Nearby
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.objectives import Objective
from secateur.predictors import Dngo
from secateur.search import LocalSearch, MoRea, Random
from secateur.search.model_based import DNGO, DNGO_LS
from secateur.spaces.cells import Darts, NasBench101, NasBench201
from secateur.spaces.cells.nasbench101_counts import parameters
from secateur.testing.searchers import Build, SearcherContract
from secateur.testing.toys import Problem, toy

ONE = (Objective("error"),)


class Cells(Problem):
    """Cells of NAS-Bench-101 by what they count."""

    space: NasBench101

    def evaluate(self, architecture: Any) -> dict[str, float]:
        cell = self.space.cell(architecture)
        counted = {"error": 1.0 / (1 + sum(cell.labels) + cell.bits % 7), "parameters": float(parameters(cell))}
        return {**counted, "macs": float(cell.nodes), "latency": float(cell.bits.bit_count())}


def cells(nodes: str) -> Cells:
    return Cells(NasBench101(nodes=nodes), (Objective("error"), Objective("parameters")))


SEARCHERS = {
    "random:path": find_searcher("random:path"),
    "random:adjacency-continuous": find_searcher("random:adjacency-continuous"),
    "local:path": find_searcher("local:path"),
    "local:vector": find_searcher("local:vector"),
    "mo-rea:path": partial(find_searcher("mo-rea:path"), population=5, sample=3),
    "dngo": partial(DNGO, predictor=Dngo(width=5, layers=1, steps=10), initial=4, refit=2),
    "dngo-ls": partial(DNGO_LS, predictor=Dngo(width=5, layers=1, steps=10), initial=4, refit=2, around=2),
    "dngo-ls:path": partial(DNGO_LS.encoded("path"), predictor=Dngo(width=5, layers=1, steps=10), initial=4, refit=3),
}


class TestContract(SearcherContract):
    @pytest.fixture(params=SEARCHERS.values(), ids=SEARCHERS)
    def build(self, request: pytest.FixtureRequest) -> Build:
        return request.param

    @pytest.fixture(scope="class")
    def problem(self) -> Problem:
        return cells("2..5")

    @pytest.fixture(scope="class")
    def tiny(self) -> Problem:
        return cells("2..4")


ELSEWHERE = {
    "random:vector": find_searcher("random:vector"),
    "local:vector": find_searcher("local:vector"),
    "dngo-ls": partial(DNGO_LS, predictor=Dngo(width=5, layers=1, steps=10), initial=4, refit=2, around=2),
}


class TestContractOfPruning(SearcherContract):
    @pytest.fixture(params=ELSEWHERE.values(), ids=ELSEWHERE)
    def build(self, request: pytest.FixtureRequest) -> Build:
        return request.param

    @pytest.fixture
    def problem(self) -> Problem:
        return toy("medium")

    @pytest.fixture
    def tiny(self) -> Problem:
        return toy("sublayer")


def test_the_same_classes_on_a_view() -> None:
    space = NasBench201()
    for kind, text in ((Random, "random:path"), (LocalSearch, "local:path"), (MoRea, "mo-rea:path")):
        searcher = find_searcher(text, "bench")(space, ONE, seed=3)
        assert type(searcher) is kind
        assert (searcher.name, searcher.seed) == (text, 3)
        assert isinstance(searcher.space, Nearby)
        assert searcher.space.draws == (kind is Random), "only what steps is compared where steps are"
        check_searcher(text, "prune")
        check_searcher(text, "design")
    assert find_searcher("mo-rea:path").sizes(100) == MoRea.sizes(100)
    assert with_budgets("mo-asha:path")
    assert not with_budgets("local:path")
    assert not with_budgets(None)


def test_vectors_are_kept_for_all_searches_of_a_space() -> None:
    space = NasBench201()
    first, second = (find_searcher("local:path")(space, ONE, seed=seed) for seed in (0, 1))
    assert first.space.surroundings is second.space.surroundings


def test_what_cannot_be() -> None:
    with pytest.raises(UnknownNameError, match="unknown encoding `pat`"):
        find_searcher("local:pat")
    with pytest.raises(
        ConfigurationError, match="`local:path` cannot search `darts`: the encoding `path` of `darts` would have"
    ):
        find_searcher("local:path")(Darts(), ONE)
    with pytest.raises(ConfigurationError, match="`local:vector` needs at least one objective, got none"):
        find_searcher("local:vector")(Darts(), ())
    with pytest.raises(ConfigurationError, match="`population` cannot be set: the searcher `local` has none"):
        find_searcher("local:path").sizes(10, population=3)


def test_large_spaces_are_searched_too() -> None:
    for text in ("random:vector", "local:path-truncated", "mo-rea:adjacency"):
        asked = find_searcher(text)(Darts(), ONE, **({"population": 2, "sample": 1} if text[0] == "m" else {})).ask(4)
        assert len({trial.key for trial in asked}) == 4
