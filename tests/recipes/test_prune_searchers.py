"""Searchers on tables of errors: hypervolumes by hand, searches that come out again, and the recipe's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

README = Path(__file__).resolve().parents[2] / "recipes/prune-minilm/README.md"
#: The empty network, one in the middle and the whole one: (error, share of the body).
NETWORKS = ([(12, 1536, 0), (6, 768, 3), (12, 1536, 6)], np.array([(0.5, 0.0), (0.2, 0.25), (0.1, 1.0)]))


@pytest.fixture(scope="module")
def searchers(load_recipe: Any) -> Any:
    return load_recipe("prune-minilm/searchers.py")


def test_shares_are_of_the_hypervolume_of_all_up_to_the_empty_network_and_the_whole_body(searchers: Any) -> None:
    """Up to (0.525, 1.05): the empty network covers 0.025 · 1.05, the middle one 0.3 · 0.8 more, the whole one 0.1 · 0.05."""
    best = 0.025 * 1.05 + 0.3 * 0.8 + 0.1 * 0.05
    rows = [{"seen": [2, 1], "counts": [1, 1, 2]}, {"seen": [0], "counts": [1, 1, 1]}]
    whole, both = 0.425 * 0.05, 0.425 * 0.05 + 0.325 * 0.75
    found = searchers.shares(NETWORKS, rows)
    assert [v / best for v in (whole, 0.025 * 1.05)] == pytest.approx(found[0])
    assert [v / best for v in (both, 0.025 * 1.05)] == pytest.approx(found[2])


def test_quantiles_are_over_what_all_searches_saw(searchers: Any) -> None:
    """Seen: 0.5 and 0.1 by one, 0.2 by the other; their places are thirds of [0, 1], so two boxes of (2 − x)(2 − y)."""
    found = searchers.quantile_hypervolumes(NETWORKS, {"a": [{"seen": [0, 2]}], "b": [{"seen": [1]}]})
    assert found == {"a": [pytest.approx(1 * 2 + 1 * 1)], "b": [pytest.approx(1.5 * 1.5)]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sweep"), [("random", False), ("local", True), ("local, population 30", True), ("mo-rea", False)]
)
def test_a_search_comes_out_again(searchers: Any, name: str, sweep: bool) -> None:
    network, networks = next(iter(searchers.tables().items()))
    (kept,) = [row for row in searchers.searches()[network, sweep, name] if row["seed"] == 0]
    again = searchers.search(networks, name, 0, sweep)
    assert (again["seen"], again["counts"]) == (kept["seen"], kept["counts"])


@pytest.mark.slow
def test_readme_shows_the_tables(searchers: Any) -> None:
    assert searchers.everything() in README.read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_searcher_has_five_seeds_on_every_super_network(searchers: Any) -> None:
    done = searchers.searches()
    wanted = {
        (name, sweep, kind) for name in searchers.tables() for sweep in (True, False) for kind in searchers.compared(sweep)
    }
    assert set(done) == wanted
    assert {tuple(row["seed"] for row in rows) for rows in done.values()} == {(0, 1, 2, 3, 4)}
