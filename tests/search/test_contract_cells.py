"""Searchers of cells under the searchers' contract: cells have other neighbours, keys and encodings than pruned networks."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.objectives import Objective
from secateur.predictors import Dngo, Gcn, MlpEnsemble
from secateur.search import Bohb, LocalSearch, MoRea, Random
from secateur.search.model_based import BANANAS, BO_DNGO, BO_GCN
from secateur.spaces.cells import NasBench101, NasBench201
from secateur.spaces.cells.nasbench101_counts import parameters
from secateur.testing.searchers import Build, SearcherContract
from secateur.testing.toys import Problem

BOTH = (Objective("error"), Objective("parameters"))


class Edges(Problem):
    """Cells of NAS-Bench-201 by the weights of their operations."""

    space: NasBench201

    def evaluate(self, architecture: Architecture) -> dict[str, float]:
        chosen = self.space.values(architecture)
        named = {"error": 9.0 - chosen @ np.linspace(0.4, 1.0, 6), "parameters": (chosen**2).sum()}
        return {**named, "macs": chosen.max(), "latency": chosen[0] + 2 * chosen[5]}


class Cells(Problem):
    """Cells of NAS-Bench-101 by what they count."""

    space: NasBench101

    def evaluate(self, architecture: Architecture) -> dict[str, float]:
        cell = self.space.cell(architecture)
        counted = {"error": 1.0 / (1 + sum(cell.labels) + cell.bits % 7), "parameters": float(parameters(cell))}
        return {**counted, "macs": float(cell.nodes), "latency": float(cell.bits.bit_count())}


PROBLEMS = {
    "nasbench201": (
        Edges(NasBench201(merged=False, operations=("none", "skip_connect", "nor_conv_3x3")), BOTH),
        Edges(NasBench201(merged=False, operations=("none", "nor_conv_3x3")), BOTH),
    ),
    "nasbench101": (Cells(NasBench101(nodes="2..5"), BOTH), Cells(NasBench101(nodes="2..4"), BOTH)),
}
SEARCHERS = {
    "random": Random,
    "local": LocalSearch,
    "mo-rea": partial(MoRea, population=5, sample=3),
    "bo-dngo": partial(BO_DNGO, predictor=Dngo(width=5, layers=1, steps=10), initial=4),
    "bananas": partial(BANANAS, predictor=MlpEnsemble(2, width=5, layers=1, steps=10), initial=4, refit=3),
    "bo-gcn": partial(BO_GCN, predictor=Gcn(width=4, layers=1, steps=10), initial=4, refit=3),
    "bohb, one rung": partial(Bohb, least=9.0, most=9.0),
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
