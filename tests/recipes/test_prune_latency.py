"""The errors of the latency model on unseen sub-networks: the script on a toy, and the table."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from secateur.devices.setup import Setup
from secateur.supernet import Supernet
from secateur.testing.models import toy_model

TABLE = Path(__file__).resolve().parents[2] / "recipes" / "prune-methods" / "latency.csv"


def test_costs_that_add_up_have_no_error(load_recipe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = load_recipe("prune-methods/latency.py")
    supernet = Supernet(toy_model("bert"))
    seen: list[int] = []

    def measured(network: Any, setup: Setup) -> Any:
        seen.append(1)
        layers = network.bert.encoder.layer
        cost = 1.0 + sum(p.numel() for layer in layers for p in layer.parameters()) / 1e4
        return type("Found", (), {"median": cost, "loaded": len(seen) % 2 == 0})

    monkeypatch.setattr(recipe, "measure_model", measured)
    rows = recipe.rows_of("toy", supernet, ["small", "medium"], Setup(length=8), 5)
    assert [row["space"] for row in rows] == ["small", "medium"]
    for row in rows:
        assert row["largest_error"] < 0.02, "parameters are sums of parts, but for the norms"
        assert row["two_measurements"] == 0
        assert (row["allowed"], row["within"]) == (0.05, True)
        assert row["busy"] == pytest.approx(0.5, abs=0.01)


def test_the_table_keeps_the_limit() -> None:
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["model"], row["space"]) for row in rows} == {
        (m, s) for m in ("minilm", "gte-small") for s in ("small", "medium")
    }
    for row in rows:
        allowed = max(0.05, 1.5 * float(row["two_measurements"]))
        assert float(row["allowed"]) == pytest.approx(allowed, rel=1e-3)
        assert float(row["median_error"]) <= allowed
        assert row["within"] == "True"


def test_the_recipe_shows_the_table(load_recipe: Any) -> None:
    page = (TABLE.parent / "README.md").read_text(encoding="utf-8")
    assert load_recipe("prune-methods/latency.py").table() in page
