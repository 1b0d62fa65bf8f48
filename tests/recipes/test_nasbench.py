"""The recipe on published tables: its page is computed from its tables, and settings were chosen on other data."""

from __future__ import annotations

import csv
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from secateur.search.reinforce import Reinforce
from secateur.search.ways import Spelling

REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "nasbench" / "nb201_15625.csv.gz"
FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "nasbench"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_has_the_tables_of_the_files(load_recipe: Any) -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert load_recipe("nasbench/tables.py").filled(page) == page
    assert all(f"<!-- {name} -->" in page for name in ("search", "tuning", "fidelity", "predictors"))


def test_searchers_have_the_settings_that_were_chosen_on_other_data(load_recipe: Any) -> None:
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
    entropy = signature(Reinforce).parameters["entropy"].default
    best = f"reinforce:{Spelling.rate:g}/{entropy:g}/{Spelling.batch}"
    assert next(iter(load_recipe("nasbench/kept.py").mean_ranks()["reinforce"])) == best


def test_enough_seeds() -> None:
    assert all(int(row["seeds"]) >= 200 for row in rows("search.csv"))
    assert all(int(row["seeds"]) >= 20 for row in rows("tuning.csv"))


def test_rows_measured_again_take_the_place_of_the_old(load_recipe: Any, tmp_path: Path) -> None:
    kept = load_recipe("nasbench/kept.py")
    file = tmp_path / "some.csv"
    kept.replace_rows(file, [{"name": "a", "value": 1.0}, {"name": "b", "value": 2.0}], ("name",))
    kept.replace_rows(file, [{"name": "a", "value": 3.14159265}], ("name",))
    assert file.read_text() == "name,value\na,3.14159\nb,2\n"
    kept.replace_rows(file, [{"name": "c", "value": 4.0}], ("name",))
    assert file.read_text() == "name,value\na,3.14159\nb,2\nc,4\n"


def test_what_the_text_says_of_searchers(load_recipe: Any) -> None:
    at = {(r["searcher"].partition(":")[0], r["queries"]): r for r in rows("search.csv")}
    assert float(at["bo-gcn", "100"]["cifar10_test@200"]) > 94.18  # arch2vec-BO has 91.41 / 94.18
    assert float(at["bo-gcn", "100"]["cifar10_validation@200"]) > 91.41
    for family in ("mo-rea", "local", "bananas"):
        assert float(at[family, "100"]["cifar10_test@200"]) > 94.175
        assert float(at[family, "100"]["cifar10_validation@200"]) > 91.31
    paper = load_recipe("nasbench/tables.py").PAPER
    for family in ("mo-rea", "reinforce"):
        assert 0.25 < float(at[family, "100"]["cifar10_test@200"]) - float(paper[family][1].split()[0]) < 0.45
    regrets = {family: float(row["regret"]) for (family, queries), row in at.items() if queries == "150"}
    assert sorted(regrets, key=regrets.__getitem__)[:3] == ["bo-gcn", "bo-dngo", "local"]
    assert (round(regrets["bo-gcn"], 3), round(regrets["bo-dngo"], 3)) == (0.020, 0.123)
    assert float(at["bo-gcn", "100"]["regret"]) == pytest.approx(float(at["bananas", "100"]["regret"]), abs=0.01)
    assert float(at["bo-gcn", "150"]["seconds"]) / float(at["local", "150"]["seconds"]) == pytest.approx(250, rel=0.2)
    early = {family: float(row["regret"]) for (family, queries), row in at.items() if queries == "50"}
    assert min(early, key=early.__getitem__) == "bo-dngo"
    assert 300 < float(at["bo-dngo", "150"]["seconds"]) / float(at["local", "150"]["seconds"]) < 1000
    assert regrets["reinforce"] - regrets["local"] == pytest.approx(0.1, abs=0.01)
    corrected = {(r["first"], r["second"]): float(r["corrected"]) for r in rows("pairs.csv") if r["measure"] == "regret"}
    several = [s for _, s in corrected if s.partition(":")[0] in ("mo-rea", "bananas", "bo-dngo", "bo-gp")] + ["local"]
    assert all(p > 0.05 for pair, p in corrected.items() if set(pair) <= set(several))
    assert all(p < 0.001 for pair, p in corrected.items() if "bo-gcn" in pair)
    spread = {family: float(r["cifar10_test@200 deviation"]) for (family, queries), r in at.items() if queries == "150"}
    assert 1.7 < spread["bo-gp"] / spread["local"] < 2.3
    assert all(p < 0.05 for pair, p in corrected.items() if "random" in pair)


def test_what_the_text_says_of_predictors() -> None:
    found = {
        (r["table"], r["features"], r["predictor"], r["encoding"], int(r["train"])): float(r["spearman"])
        for r in rows("predictors.csv")
    }

    def best(table: str, features: str, train: int) -> dict[str, float]:
        """Predictor → its Spearman with the encoding that is best for it over all sizes."""
        told: dict[str, dict[str, dict[int, float]]] = {}
        for (t, f, predictor, encoding, n), value in found.items():
            if (t, f) == (table, features):
                told.setdefault(predictor, {}).setdefault(encoding, {})[n] = value
        return {p: max(several.values(), key=lambda by: sum(by.values()))[train] for p, several in told.items()}

    def first(table: str, train: int) -> str:
        several = best(table, "none", train)
        return max(several, key=several.__getitem__)

    assert [first("nb201", n) for n in (50, 100)] == ["gcn", "mlp"]
    for n in (250, 500):
        several = best("nb201", "none", n)
        assert max(several.values()) - min(several["mlp"], several["dngo"]) < 0.002
    assert {first("prune-stsb", n) for n in (25, 50, 100, 250)} == {"trees"}
    assert {first("design-wikitext2", n) for n in (50, 100)} == {first("prune-mrpc", n) for n in (25, 50, 100)} == {"trees"}
    assert min(best("nb201", "12 epochs", 50).values()) > 0.82
    decoders = {f: best("design-wikitext2", f, 25) for f in ("none", "parameters", "proxies")}
    assert [round(decoders[f]["dngo"], 2) for f in ("none", "parameters")] == [0.72, 0.9]
    gains = {p: decoders["proxies"][p] - decoders["parameters"][p] for p in decoders["proxies"]}
    assert gains.pop("forest") == pytest.approx(0.03, abs=0.005)
    assert gains.pop("gp") < -0.05
    assert max(gains.values()) < 0.006


@pytest.mark.skipif(not REAL.exists(), reason="needs the published table")
def test_how_well_twelve_epochs_rank_by_themselves() -> None:
    from scipy.stats import spearmanr

    from secateur.tables.opening import open_table

    table = open_table(str(REAL)).table
    short, long = (table.column("cifar10_validation", epochs) for epochs in (12, 200))
    assert spearmanr(short, long)[0] == pytest.approx(0.82, abs=0.005)
