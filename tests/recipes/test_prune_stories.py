"""The recipe of stories15M: equal tokens, rows of a toy run, and a page whose tables are those of the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "prune-stories"


@pytest.mark.parametrize("tokens", [32_768, 131_072])
def test_both_methods_read_as_many_tokens(load_recipe: Any, tokens: int) -> None:
    """Warm-up, super-network and the tournaments of three sizes, in which one of the candidates goes on."""
    recipe = load_recipe("prune-stories/run.py")
    for method in ("minitron", *recipe.SPACES):
        c = recipe.settings(method, tokens, 1e-3, 0)
        polished = 3 * c["polish_epochs"] * (c["candidates"] * 0.25 + 0.75)
        epochs = polished + c.get("epochs", 0.0) + c.get("order_epochs", 0.0)
        assert epochs * c["max_train"] * c["max_length"] == pytest.approx(tokens)


def test_the_settings_are_settings(load_recipe: Any) -> None:
    from secateur.runs.prune.settings import PruneSettings

    recipe = load_recipe("prune-stories/run.py")
    for method in ("minitron", *recipe.SPACES):
        given = {n: v for n, v in recipe.settings(method, 32_768, 1e-3, 0).items() if n != "progress"}
        assert PruneSettings.made({"model": "m", "data": "d", **given}).choice_faults() == []


@pytest.mark.usefixtures("brief")
def test_rows_and_cuts_of_a_toy(load_recipe: Any, quick_prune: Any, language: dict[str, Any], tmp_path: Path) -> None:
    recipe, cut = load_recipe("prune-stories/run.py"), load_recipe("prune-stories/cut.py")
    given = {**language, "method": "minitron", "polish_at": list(recipe.LEVELS), "candidates": 2, "measure": False}
    run = quick_prune(tmp_path / "run", **given)
    unpruned, *others = recipe.rows(run, {"method": "minitron"})
    assert unpruned["validation"] == run.unpruned["perplexity"]
    assert [row["level"] for row in others] == list(recipe.LEVELS)
    for row in others:
        assert row["share"] <= float(row["level"][:-1]) / 100
        assert row["validation"] <= row["cut"], "the better weights are the network's"
    data = run.configuration.task_data(run.tokenizer)
    rows = cut.rows(run.supernet, data, 0)
    assert [row["scores"] for row in rows] == ["unpruned", *["activations"] * 3, *["Taylor"] * 3]
    run.close()


def test_shapes_of_like_and_unlike_layers(load_recipe: Any) -> None:
    from secateur.spaces.pruning import Medium, Shape, Small

    recipe, shape = load_recipe("prune-stories/run.py"), Shape(2, 4, 8)
    small, medium = Small(shape), Medium(shape)
    assert recipe.shape(small.plan(small.largest()).layers) == "2 × (4, 8)"
    half = medium.make({"heads": (4, 2), "units": (8, 5)})
    assert recipe.shape(medium.plan(half).layers) == "2 × (≈ 3.0, ≈ 6)"


def test_a_super_network_is_trained_at_the_rate_that_healed_best(
    load_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = load_recipe("prune-stories/optimizers.py")
    monkeypatch.setattr(recipe, "OPTIMIZERS", tmp_path / "optimizers.csv")
    rows = [(1e-3, 9.0, recipe.HEALING), (3e-4, 5.0, recipe.HEALING), (1e-4, 2.0, recipe.SUPERNET)]
    known = {"by": "adamw", "steps": 8, "seed": 0}
    recipe.replace_rows(recipe.OPTIMIZERS, [{**known, "rate": r, "slice": p, "training": t} for r, p, t in rows], ("rate",))
    assert recipe.best_rate("adamw", 8, 0) == 3e-4


def test_the_page_has_the_tables_of_the_files(load_recipe: Any) -> None:
    recipe = load_recipe("prune-stories/tables.py")
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name, table in recipe.TABLES.items():
        assert f"<!-- {name} -->\n{table()}\n<!-- end -->" in text
