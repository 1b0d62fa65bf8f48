"""The recipe on published tables: its page is computed from its tables, and settings were chosen on other data."""

from __future__ import annotations

import csv
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from secateur.search.reinforce import Reinforce

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "nasbench"


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts of this folder import each other."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("kept", "search"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_has_the_tables_of_the_files(load_recipe: Any, beside: None) -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert load_recipe("nasbench/tables.py").filled(page) == page
    assert all(f"<!-- {name} -->" in page for name in ("search", "tuning", "fidelity", "predictors"))


def test_searchers_have_the_settings_that_were_chosen_on_other_data(load_recipe: Any, beside: None) -> None:
    recipe, policies = load_recipe("nasbench/search.py"), load_recipe("nasbench/reinforce.py")
    chosen = recipe.best_settings()
    for row in rows("search.csv"):
        family = row["searcher"].partition(":")[0]
        assert row["searcher"] == chosen.get(family, family)
    assert {row["objective"] for row in rows("tuning.csv")} == set(recipe.ELSEWHERE)
    assert not any("cifar10_" in row["objective"] for row in rows("tuning.csv"))
    for family, settings in recipe.FAMILIES.items():
        tried = {row["searcher"] for row in rows("tuning.csv") if row["family"] == family}
        assert not tried or tried == ({str(s) for s in policies.SETTINGS} if family == "reinforce" else set(settings))
    default = signature(Reinforce).parameters
    best = f"reinforce:{default['rate'].default:g}/{default['entropy'].default:g}/{default['batch'].default}"
    assert next(iter(load_recipe("nasbench/kept.py").mean_ranks()["reinforce"])) == best


def test_enough_seeds() -> None:
    assert all(int(row["seeds"]) >= 200 for row in rows("search.csv"))
    assert all(int(row["seeds"]) >= 20 for row in rows("tuning.csv"))


def test_rows_measured_again_take_the_place_of_the_old(load_recipe: Any, tmp_path: Path) -> None:
    kept = load_recipe("nasbench/kept.py")
    file = tmp_path / "some.csv"
    kept.replace_rows(file, [{"name": "a", "value": 1.0}, {"name": "b", "value": 2.0}], ("name",))
    kept.replace_rows(file, [{"name": "a", "value": 3.14159265}], ("name",))
    assert file.read_text() == "name,value\nb,2\na,3.14159\n"
