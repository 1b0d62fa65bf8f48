"""Every searcher, under one contract. A new one is a line in the list."""

from __future__ import annotations

from functools import partial

import pytest

from secateur.search import Ehvi, Evolution, LocalSearch, MoRea, Nsga2, Random
from secateur.testing.searchers import Build, SearcherContract

# Small populations and starts: the runs of the contract are short, and all must get past the first, random phase.
SEARCHERS = {
    "random": Random,
    "local": LocalSearch,
    "mo-rea": partial(MoRea, population_size=5, sample_size=3),
    "nsga2": partial(Nsga2, population_size=4),
    "ehvi": partial(Ehvi, initial=4, iterations=8),
    "evolution": partial(Evolution, population=4, parents=2, mutations=2, crossovers=2),
    "evolution, hull": partial(Evolution, population=4, parents=2, mutations=1, crossovers=2, hull=True),
}


@pytest.fixture(params=SEARCHERS.values(), ids=SEARCHERS)
def build(request: pytest.FixtureRequest) -> Build:
    return request.param


class TestContract(SearcherContract):
    pass
