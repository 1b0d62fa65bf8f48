"""The recipe of learning curves: its page is computed from its tables, and its text says what they say."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from secateur.tables.opening import open_table

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "nasbenchx11"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_has_the_tables_of_the_files(load_recipe: Any) -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    tables = load_recipe("nasbenchx11/tables.py")
    assert tables.filled(page) == page
    assert all(f"<!-- {name} -->" in page for name in ("surrogates", "extrapolators", "nlp-extrapolators"))


def test_what_the_text_says_of_models() -> None:
    found = {(row["compressor"], row["regressor"], row["noise"]): row for row in rows("surrogates.csv")}
    assert len(found) == 2 * 3 * 4
    for compressor in ("svd", "vae"):
        r2 = {regressor: float(found[compressor, regressor, "kde"]["r2"]) for regressor in ("lgb", "xgb", "mlp")}
        assert r2["lgb"] == pytest.approx(r2["xgb"], abs=0.002)
        assert r2["lgb"] - r2["mlp"] > 0.05
        for regressor in r2:
            mine = {noise: float(found[compressor, regressor, noise]["kl_final"]) for noise in ("kde", "deviation", "window")}
            assert min(mine, key=mine.__getitem__) == "kde"
            told = {n: float(found[compressor, regressor, n]["kl"]) for n in ("kde", "deviation", "window", "seeds")}
            assert min(told, key=told.__getitem__) == "seeds"
    assert float(found["svd", "lgb", "kde"]["r2"]) == pytest.approx(float(found["vae", "lgb", "kde"]["r2"]), abs=0.002)
    assert (
        4 < min(float(row["components"]) for row in found.values()) < max(float(r["components"]) for r in found.values()) < 7.5
    )
    table = open_table("curves-wikitext2").table
    assert {row["networks"] for row in found.values()} == {str(table.distinct)}
    assert f"{len(table)} trainings of {table.distinct} GPT-2 decoders" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_what_the_text_says_of_extrapolators() -> None:
    by = {(r["extrapolator"], r["share"], r["train"]): float(r["kendall"]) for r in rows("extrapolators.csv")}
    assert [round(by[name, "0.2", "20"], 2) for name in ("svr", "wpm", "last")] == [0.80, 0.78, 0.63]
    assert round(by["svr", "0.2", "100"], 2) == 0.89
    assert [round(by["gp", share, "100"], 2) for share in ("0.1", "0.2")] == [0.91, 0.92]
    assert all(by["gp", share, train] > by["svr", share, train] for share in ("0.1", "0.2", "0.4") for train in ("50", "100"))
    assert all(by["gp", share, "20"] < by["svr", share, "20"] for share in ("0.1", "0.2", "0.4"))
    within = {(r["extrapolator"], r["share"]): float(r["within_1"]) for r in rows("extrapolators.csv")}
    assert within["wpm", "0.2"] < 0.1
    assert 0.35 < within["wpm", "0.4"] < 0.5
    other = {(r["extrapolator"], r["share"], r["train"]): float(r["kendall"]) for r in rows("nlp-extrapolators.csv")}
    assert other["gp", "0.2", "100"] < other["last", "0.2", "100"] < other["svr", "0.2", "100"]
    assert (round(other["last", "0.2", "20"], 2), round(other["svr", "0.2", "100"], 2)) == (0.83, 0.86)
