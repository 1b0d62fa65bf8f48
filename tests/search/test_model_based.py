"""Model-based searchers by name, and what a name may be followed by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from secateur import search
from secateur.catalogue import check_searcher, find, find_searcher
from secateur.errors import ConfigurationError, MissingExtraError, UnknownNameError
from secateur.objectives import Objective
from secateur.search.acquisitions import expected_improvement, thompson
from secateur.search.ehvi import expected_gain
from secateur.search.model_based import BANANAS, BO_DNGO
from secateur.search.pools import Pool
from secateur.spaces.cells import Darts, NasBench201
from secateur.spaces.pruning import Large, Shape
from secateur.testing.toys import Toy, toy

CELLS = NasBench201(merged=False, operations=("none", "skip_connect", "nor_conv_3x3"))
ONE, TWO = [Objective("error")], [Objective("error"), Objective("parameters")]


def values(cell: Any) -> float:
    """Convolutions are good, skips less so: additive over the edges, with weights that differ."""
    return float(CELLS.values(cell) @ [1.0, 0.7, 0.9, 0.5, 0.8, 0.6])


@pytest.mark.parametrize(
    ("name", "cells", "elsewhere", "acquisition"),
    [
        ("bo-gp", "adjacency", "vector", expected_improvement),
        ("bo-dngo", "adjacency", "vector", expected_improvement),
        ("bananas", "path", "vector", thompson),
    ],
)
def test_what_a_name_stands_for(name: str, cells: str, elsewhere: str, acquisition: Any) -> None:
    kind = find("searcher", name)
    inside, outside = kind(CELLS, ONE), kind(toy("medium").space, TWO)
    assert (inside.encoding.name, outside.encoding.name) == (cells, elsewhere)
    assert inside.acquisition is acquisition
    assert outside.acquisition is expected_gain
    assert inside.name == outside.name == name
    assert kind.sizes(100) == {}


def test_an_encoding_is_named_after_a_colon() -> None:
    searcher = find_searcher("bananas:adjacency")(CELLS, ONE)
    assert (searcher.name, searcher.encoding.name) == ("bananas:adjacency", "adjacency")
    assert find_searcher("bananas")(Darts(), ONE).encoding.name == "path-truncated"  # all paths would be too many
    assert find_searcher("local") is search.LocalSearch
    check_searcher("bananas:path", "prune")


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("banana", UnknownNameError, "unknown searcher `banana`. Did you mean `bananas`"),
        ("bananas:pat", UnknownNameError, "unknown encoding `pat`. Did you mean `path`"),
        ("nsga2:path", ConfigurationError, "`nsga2:path` names an encoding, and `nsga2` has no use for one."),
        ("bananas:", UnknownNameError, "unknown encoding ``"),
    ],
)
def test_names_that_are_none(text: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        find_searcher(text)
    if kind is UnknownNameError:
        with pytest.raises(kind, match=said):
            check_searcher(text)


def test_an_encoding_that_does_not_serve_the_space() -> None:
    space = toy("medium").space
    with pytest.raises(ConfigurationError) as caught:
        find_searcher("bananas:path")(space, TWO)
    assert str(caught.value).startswith("`bananas:path` cannot search `medium`: ")
    assert find("encoding", "path").refuses(space) in str(caught.value)


def test_vectors_that_are_too_long() -> None:
    with pytest.raises(ConfigurationError, match="`bo-dngo` needs vectors of at most 1000 numbers, `vector` has 37008 in"):
        BO_DNGO(Large(Shape(12, 12, 3072)), TWO)


def test_a_missing_library_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "secateur.search.hypervolume_improvement", None)
    monkeypatch.delitem(sys.modules, "secateur.search.hypervolume_improvement")
    for name in [m for m in sys.modules if m == "botorch" or m.startswith("botorch.")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match="botorch"):
        BO_DNGO(toy("medium").space, TWO)
    BO_DNGO(toy("medium").space, ONE)


def test_one_objective_is_searched_better_than_by_chance() -> None:
    """On 729 cells whose values add up over edges: the best after 40, against 400 random draws of so many."""
    every = {a.key: values(a) for a in CELLS.every()}
    drawn = np.random.default_rng(0)
    by_chance = np.mean([drawn.choice(list(every.values()), 40, replace=False).max() for _ in range(400)])
    for setting in (BO_DNGO, BANANAS):
        searcher = setting(CELLS, [Objective("value", "max")], seed=1)
        problem = Cells(CELLS, (Objective("value", "max"),))
        found = max(map(values, problem.run(searcher, 40)))
        assert found > by_chance + 0.2
        assert found >= max(every.values()) - 0.5


class Cells(Toy):
    def evaluate(self, architecture: Any) -> dict[str, float]:
        return {"value": values(architecture)}


def test_a_model_serves_as_many_proposals_as_said() -> None:
    """Fitted to what was told before the first of them, whenever the search is resumed."""
    problem = toy("medium", shape=Shape(3, 4, 6)).seeking(Objective("error"))
    fits: list[int] = []

    class Counted(find("predictor", "mlp")):  # type: ignore[misc]
        def fit(self, inputs: np.ndarray, *args: Any, **more: Any) -> Any:
            fits.append(len(inputs))
            return super().fit(inputs, *args, **more)

    def build() -> Any:
        return BANANAS(problem.space, problem.objectives, seed=2, predictor=Counted(2, 5, 1, 10), initial=4, refit=5)

    whole = build()
    asked = problem.run(whole, 20)
    assert fits == [4, 9, 14, 19]
    assert whole.fallbacks == 0  # the first of them, too, is chosen by a model
    for stop in range(4, 20):
        resumed = build()
        resumed.restore(whole.history[:stop])
        assert problem.run(resumed, 20 - stop) == asked[stop:], f"after {stop}"
    with pytest.raises(ConfigurationError, match="`refit` must be at least 1, got 0"):
        BANANAS(problem.space, problem.objectives, refit=0)


def test_candidates_are_mutations_of_the_best() -> None:
    problem = toy("medium", shape=Shape(3, 4, 6)).seeking(Objective("error"))
    searcher = BANANAS(problem.space, problem.objectives, seed=2, initial=25)
    problem.run(searcher, 25)
    best = sorted(searcher.history, key=lambda t: t.values["error"])[:10]
    near = {n.key for t in best for n in problem.space.neighbours(t.architecture)}
    assert {a.key for a in searcher._parents(searcher.complete())} == {t.key for t in best}
    pool = searcher.pool.candidates(searcher._parents(searcher.complete()), searcher._is_new, np.random.default_rng(0))
    assert 20 < len(pool) <= 200
    assert {a.key for a in pool} <= near


def test_a_whole_space_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    space = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
    encoded = []
    kind = find("encoding", "adjacency")
    encode = kind.encode
    monkeypatch.setattr(kind, "encode", lambda self, some: encoded.append(len(some)) or encode(self, some))
    problem = Cells(space, (Objective("value", "max"),))
    for seed in (0, 1):
        problem.run(BO_DNGO(space, problem.objectives, seed=seed, initial=3), 6)
    assert encoded.count(64) == 1
    pool, encoding = Pool(space), kind(space)
    some = list(space.every())[5:9]
    assert np.array_equal(pool.encoded(some, encoding), encode(encoding, some))


def test_a_graph_predictor_searches_cells_only() -> None:
    kind = find("searcher", "bo-gcn", "bench")
    problem = Cells(CELLS, (Objective("value", "max"),))
    assert len(set(problem.run(kind(CELLS, problem.objectives, initial=4), 6))) == 6
    with pytest.raises(ConfigurationError, match=r"`bo-gcn` cannot search `medium`: .* the searchers `bo-dngo`"):
        kind(toy("medium").space, ONE)
    with pytest.raises(ConfigurationError):
        kind.encoded("path")(CELLS, ONE)
