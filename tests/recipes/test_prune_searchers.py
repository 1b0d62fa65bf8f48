"""Searchers on tables of errors: hypervolumes by hand, searches that come out again, and the recipe's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

DEMO = "MiniLM, reviews (the demo)"
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
    found = searchers.by_quantiles(NETWORKS, {"a": [{"seen": [0, 2]}], "b": [{"seen": [1]}]})
    assert found == {"a": [pytest.approx(1 * 2 + 1 * 1)], "b": [pytest.approx(1.5 * 1.5)]}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sweep"), [("random", False), ("local", True), ("local, aimed", True), ("mo-rea", False)])
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


def shares_of(searchers: Any, name: str, networks: list[str]) -> float:
    return float(np.mean([searchers.reached(True)[name][network][2] for network in networks]))


@pytest.mark.slow
def test_what_the_text_says(searchers: Any) -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    swept, plain = searchers.means(True), searchers.means(False)
    demo = {name: shares_of(searchers, name, [DEMO]) for name in ("ehvi", "local")}
    others = {name: shares_of(searchers, name, [n for n in searchers.tables() if n != DEMO]) for name in ("ehvi", "local")}
    assert f"demo's super-network ({demo['ehvi']:.3f} against {demo['local']:.3f}) and level on the others" in text
    assert f"level on the others ({others['ehvi']:.3f} against {others['local']:.3f})" in text
    assert abs(others["ehvi"] - others["local"]) < 0.005
    assert f"the {searchers.seconds(True, 'ehvi'):.1f} s that EHVI needs" in text
    assert 100 * (1 + searchers.seconds(True, "ehvi")) >= 175
    assert f"with which it reaches {swept['local, 175 trials'][2]:.3f} against {swept['ehvi'][2]:.3f}" in text
    assert f"after 30 ({swept['ehvi'][0]:.3f} against local search's {swept['local'][0]:.3f} with the sweep)" in text
    assert f"({plain['ehvi'][2]:.3f} against {plain['local'][2]:.3f} after 100)" in text
    assert all(ours > theirs for ours, theirs in zip(plain["ehvi"], plain["local"], strict=True))
    first = swept["local, aimed"]
    assert (
        f"reaches {first[0]:.3f} after 30 trials and {first[2]:.3f} after 100 ({plain['local, aimed'][2]:.3f} without" in text
    )
    assert f"random search {swept['random, aimed'][2]:.3f}." in text
    assert first[2] == max(values[2] for name, values in swept.items() if name != "local, 175 trials")
    for name in ("random", "local", "mo-rea", "nsga2"):
        assert swept[f"{name}, aimed"][2] > swept[name][2]
    for means in (swept, plain):
        assert means["random"][2] < min(means["mo-rea"][2], means["nsga2"][2])
        assert max(means["mo-rea"][2], means["nsga2"][2]) < means["local"][2]
