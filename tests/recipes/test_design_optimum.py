"""The comparison of searchers with the exact front, on a toy run and as the recipe's text has it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def test_rows_of_a_toy_run(load_recipe: Any, designed: Path) -> None:
    rows = load_recipe("design/optimum.py").rows_of(designed, trials=200)
    assert {row["objectives"] for row in rows} == {2, 3}
    assert {row["searcher"] for row in rows} == {
        "exact", "exact, 200 of it", "homogeneous", "evolution", "evolution on the hull", "random"
    }  # fmt: skip
    assert all(row["beaten"] == 1.0 for row in rows), "nothing is better than the exact front"
    assert all(row["hypervolume"] <= 1.0 and row["within_latency"] <= 1.0 for row in rows)
    assert all(row["beaten_alike"] == 1.0 for row in rows if row["searcher"] == "homogeneous")


def rows() -> list[dict[str, str]]:
    with (ROOT / "recipes" / "design" / "optimum.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_exact_front_beats_all_others_in_less_than_half_a_minute() -> None:
    assert all(float(row["beaten"]) == 1.0 for row in rows())
    assert all(float(row["seconds"]) < 30 for row in rows() if row["searcher"] == "exact")


def test_the_recipe_shows_the_table(load_recipe: Any) -> None:
    assert load_recipe("design/optimum.py").tables() in (ROOT / "recipes" / "design" / "README.md").read_text(encoding="utf-8")
