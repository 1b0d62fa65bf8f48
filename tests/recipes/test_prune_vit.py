"""The recipe of a ViT: its network, its settings, rows of a toy run, and a page whose table is that of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "prune-vit"


@pytest.mark.parametrize("rate", [None, 1e-3])
def test_the_settings_are_settings(load_recipe: Any, rate: float | None) -> None:
    from secateur.runs.prune.settings import PruneSettings

    recipe = load_recipe("prune-vit/run.py")
    given = {name: value for name, value in recipe.settings(rate, 100, 0).items() if name != "progress"}
    assert PruneSettings.made({"model": "m", "data": "digits", **given}).choice_faults() == []


def test_rows_of_a_toy(load_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained from scratch and pruned on the same splits."""
    import secateur

    recipe = load_recipe("prune-vit/run.py")
    monkeypatch.setattr(recipe, "SIZES", {**recipe.SIZES, "num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 16})
    monkeypatch.setattr(recipe, "MOST", 60)
    given = recipe.settings(1e-2, 120, 0)
    before = recipe.train("digits", tmp_path / "model", 2.0, given)
    quick = {"epochs": 1.0, "order_epochs": 0.5, "polish_epochs": 0.5, "trials": 4, "candidates": 1, "device": "cpu"}
    run = secateur.prune(str(tmp_path / "model"), "digits", to=tmp_path / "run", **given, **quick)
    first, unpruned, *others = recipe.rows(run, {"data": "digits"}, before["accuracy"])
    assert first["test"] == before["accuracy"]
    assert unpruned["test"] == run.unpruned_test["accuracy"]
    assert [row["level"] for row in others] == list(recipe.LEVELS)
    for row in others:
        assert row["share"] <= float(row["level"][:-1]) / 100
    run.close()


def test_the_page_has_the_tables_of_the_files(load_recipe: Any) -> None:
    recipe = load_recipe("prune-vit/tables.py")
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name, table in recipe.TABLES.items():
        assert f"<!-- {name} -->\n{table()}\n<!-- end -->" in text
