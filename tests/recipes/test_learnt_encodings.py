"""The recipes of learnt encodings: their pages are computed from their tables, and what was chosen was chosen on other data."""

from __future__ import annotations

import csv
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from secateur.encodings.learned.arch2vec_settings import PUBLISHED
from secateur.encodings.learned.cate_settings import CateSettings
from secateur.search.reinforce import Reinforce
from secateur.search.ways import Going

RECIPES = Path(__file__).resolve().parents[2] / "recipes"


def rows(name: str) -> list[dict[str, str]]:
    with (RECIPES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("recipe", ["arch2vec", "cate"])
def test_the_page_has_the_tables_of_the_files(load_recipe: Any, recipe: str) -> None:
    page = (RECIPES / recipe / "README.md").read_text(encoding="utf-8")
    tables = load_recipe(f"{recipe}/tables.py")
    assert tables.filled(page) == page
    assert all(f"<!-- {name} -->" in page for name in tables.TABLES)


def test_enough_seeds() -> None:
    for name in ("arch2vec/search.csv", "cate/search.csv", "cate/outside.csv"):
        assert all(int(row["seeds"]) >= 200 for row in rows(name))


def test_what_was_chosen_was_chosen_on_other_data(load_recipe: Any) -> None:
    """The training of arch2vec, and the settings of REINFORCE in its space."""
    search = load_recipe("arch2vec/search.py")
    assert {row["objective"] for row in rows("arch2vec/tuning.csv")} == set(search.ELSEWHERE)
    learnt = {row["searcher"].partition(":runs/arch2vec/")[2] for row in rows("arch2vec/search.csv")} - {""}
    assert learnt == {search.chosen().removeprefix("runs/arch2vec/")}
    ranks: dict[tuple[str, ...], list[float]] = {}
    for row in rows("arch2vec/reinforce.csv"):
        assert row["objective"] in search.ELSEWHERE
        given = (row["rate"], row["deviation"], row["discount"], row["batch"])
        ranks.setdefault(given, []).append(float(row["rank"]))
    best = min(ranks, key=lambda given: sum(ranks[given]))
    defaults = signature(Reinforce).parameters
    assert [float(value) for value in best] == [
        Going.rate,
        defaults["deviation"].default,
        defaults["discount"].default,
        Going.batch,
    ]


def test_every_difference_of_the_released_code_has_a_row(load_recipe: Any) -> None:
    """`kl_weight` goes with another one, and `pooling` changes the embedding only."""
    recipe = load_recipe("arch2vec/pretrain.py")
    alone = [next(iter(given)) for given in recipe.SWITCHES.values()]
    assert set(alone) == set(PUBLISHED) - {"kl_weight", "pooling"}
    assert all(given[name] == PUBLISHED[name] for given, name in zip(recipe.SWITCHES.values(), alone, strict=True))
    assert {row["name"] for row in rows("arch2vec/pretraining.csv")} == set(recipe.TRAININGS)


def test_the_trainings_of_cate_are_told(load_recipe: Any) -> None:
    recipe = load_recipe("cate/pretrain.py")
    told = {row["name"]: row for row in rows("cate/pretraining.csv")}
    assert set(told) == set(recipe.TRAININGS)
    usual = CateSettings()
    assert (told["indirect"]["layers"], told["indirect"]["cross_layers"]) == (str(usual.layers), str(usual.cross_layers))
    assert all(float(row["named"]) > float(row["commonest"]) for row in told.values() if row["named"])
