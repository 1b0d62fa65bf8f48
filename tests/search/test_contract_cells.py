"""Searchers of cells under the searchers' contract: cells have other neighbours, keys and encodings than pruned networks."""

from __future__ import annotations

from functools import partial

import pytest

from secateur.architecture import Architecture
from secateur.objectives import Objective
from secateur.predictors import Dngo, Gcn, MlpEnsemble
from secateur.search import Bohb, LocalSearch
from secateur.search.model_based import BANANAS, BO_DNGO, BO_GCN
from secateur.spaces.cells import NasBench101
from secateur.spaces.cells.nasbench101_counts import parameters
from secateur.testing.searchers import Build, SearcherContract
from secateur.testing.toys import Problem


class Cells(Problem):
    """Cells of NAS-Bench-101 by what they count."""

    space: NasBench101

    def evaluate(self, architecture: Architecture) -> dict[str, float]:
        cell = self.space.cell(architecture)
        counted = {"error": 1.0 / (1 + sum(cell.labels) + cell.bits % 7), "parameters": float(parameters(cell))}
        return {**counted, "macs": float(cell.nodes), "latency": float(cell.bits.bit_count())}


SEARCHERS = {
    "local": LocalSearch,
    "bo-dngo": partial(BO_DNGO, predictor=Dngo(width=5, layers=1, steps=10), initial=4),
    "bananas": partial(BANANAS, predictor=MlpEnsemble(2, width=5, layers=1, steps=10), initial=4, refit=3),
    "bo-gcn": partial(BO_GCN, predictor=Gcn(width=4, layers=1, steps=10), initial=4, refit=3),
    "bohb, one rung": partial(Bohb, least=9.0, most=9.0),
}


def cells(nodes: str) -> Cells:
    return Cells(NasBench101(nodes=nodes), (Objective("error"), Objective("parameters")))


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
