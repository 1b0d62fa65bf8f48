"""The recipe of HM-NAS on a handful of digits, and the tables of its page."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.slow
def test_all_parts_once(load_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = load_recipe("hmnas/orderings.py")
    sizes = ["--images", "20", "--test", "20", "--batch", "10", "--channels", "2", "--nodes", "1", "--seeds", "1"]
    epochs = [w for n in ("epochs", "mask-epochs", "tune-epochs", "scratch-epochs") for w in (f"--{n}", "1")]
    monkeypatch.setattr(sys, "argv", ["orderings.py", "digits", "--to", str(tmp_path), *sizes, *epochs, "--warm-up", "0"])
    recipe.main()
    with (tmp_path / "networks.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = [(row["encoding"], row["rule"], row["stage"]) for row in rows]
    tables = load_recipe("hmnas/tables.py")
    assert set(found) == {*tables.STAGES, *tables.RULES, *tables.CONTROLS, ("single-level", "", "super-network")}
    before = (tmp_path / "networks.csv").read_bytes()
    recipe.main()  # nothing is left to compute
    assert (tmp_path / "networks.csv").read_bytes() == before
    monkeypatch.setattr(tables, "HERE", tmp_path)
    assert "| masked | 1 |" in tables.TABLES["stages"]()
    assert tables.TABLES["pairs"]().count("\n") >= 5
    assert "| normal | 0 | 0.50 |" in tables.TABLES["edges"]()


def test_the_settings_of_methods_are_settings(load_recipe: Any) -> None:
    from secateur.runs.prune.settings import PruneSettings

    recipe = load_recipe("hmnas/tuning.py")
    for method, settings in recipe.SETTINGS.items():
        given = {n: v for n, v in {**recipe.COMMON, **settings, "method": method}.items() if n != "progress"}
        assert PruneSettings.made({"model": "m", "data": "d", **given}).choice_faults() == []


def test_the_page_shows_the_tables(load_recipe: Any) -> None:
    tables = load_recipe("hmnas/tables.py")
    text = (tables.HERE / "README.md").read_text(encoding="utf-8")
    assert tables.filled(text, tables.TABLES) == text


def test_what_the_page_says_of_settings(load_recipe: Any) -> None:
    tables = load_recipe("hmnas/tables.py")
    found = {(row["setting"], row["level"]): float(row["validation"]) for row in tables.rows_of(tables.HERE / "tuning.csv")}
    settings = list(dict.fromkeys(setting for setting, _ in found))
    assert set(settings) == set(load_recipe("hmnas/tuning.py").TRIED)
    means = {setting: sum(found[setting, level] for level in tables.LEVELS) / 4 for setting in settings}
    assert max(means, key=means.__getitem__) == "schedule, 0.005"
    best, still = (found[s, "10%"] for s in ("schedule, 0.005", "schedule, masks as they begin"))
    assert f"{best:.3f} at 10 % and {found['schedule, 0.005', '20%']:.3f} at 20 %" in (text := page(tables))
    assert f"have {still:.3f} and {found['schedule, masks as they begin', '20%']:.3f}" in text
    assert all(abs(found[f"schedule, {rate}", "10%"] - still) < 0.03 for rate in ("0.02", "0.001"))
    assert all(found["lagrangian, 0.02", level] > found["schedule, 0.02", level] for level in ("10%", "20%"))
    for level in tables.LEVELS[:3]:
        assert found["schedule, 0.005", level] > max(found[f"lagrangian, {rate}", level] for rate in ("0.02", "0.005"))


def page(tables: Any) -> str:
    return str((tables.HERE / "README.md").read_text(encoding="utf-8"))
