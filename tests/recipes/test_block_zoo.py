"""The recipe of the block zoo: it runs, goes on where it was stopped, and its page is computed from its tables."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secateur.spaces.mobilenet import Mobilenet
from secateur.spaces.mobilenet_sizes import ImageSizes, parameters

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "block-zoo"
SMALL = ["--data", "digits", "--factor", "0.05", "--epochs", "1", "--reference-epochs", "1"]
SMALL += ["--images", "100", "--batch", "50", "--proxy-batches", "1"]


def test_the_page_has_the_tables_of_the_files(load_recipe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page, tables = (FOLDER / "README.md").read_text(encoding="utf-8"), load_recipe("block-zoo/tables.py")
    for name, table in tables.TABLES.items():
        assert f"<!-- {name} -->\n{table()}\n<!-- end -->" in page


def test_correlations_are_those_of_ranks(load_recipe: Any) -> None:
    tables = load_recipe("block-zoo/tables.py")
    one, other = np.array([1.0, 2.0, 3.0, np.nan, 5.0]), np.array([10.0, 30.0, 20.0, 5.0, 40.0])
    # ranks 1 2 3 4 and 1 3 2 4: 1 − 6 · 2 / (4 · 15)
    assert tables.correlation(one, other) == pytest.approx(0.8)
    assert tables.correlation(one, np.ones(5)) == 0.0
    values = {"a": other, "final": other, "b": -2 * other}
    drawn = tables.bootstrapped(values, ("a", "b"), "final")
    assert np.allclose(drawn["a"], 1.0)
    assert np.allclose(drawn["b"], -1.0)


@pytest.mark.slow
def test_two_networks_are_scored_and_trained_and_not_again(
    load_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = load_recipe("block-zoo/run.py")
    monkeypatch.setattr(run, "CURVE", (20,))
    monkeypatch.setattr(run, "PROXIES", ("synflow",))
    monkeypatch.setattr(run, "zoo_settings", lambda: {n: (2, s) for n, (_, s) in _few(run).items()})
    monkeypatch.setattr(sys, "argv", ["run.py", "--to", str(tmp_path), "--networks", "2", "--repeated", "1", *SMALL])
    run.main()
    file = tmp_path / "rows-0-of-1.csv"
    first = file.read_text()
    rows = list(csv.DictReader(first.splitlines()))
    assert {row["quantity"] for row in rows if row["network"] == "0"} >= {"synflow", "zoo_20", "final_scratch_again"}
    assert all(0 <= float(row["value"]) <= 1 for row in rows if row["quantity"].startswith(("final", "zoo", "reference")))
    monkeypatch.setattr(run, "train_images", None)
    run.main()
    assert file.read_text() == first


def _few(run: Any) -> dict[str, Any]:
    return {"zoo_20": (20, run.ZooSettings()), "remapped": (20, run.ZooSettings(distil=False))}


def test_what_the_page_says_of_longer_trainings(load_recipe: Any) -> None:
    tables, page = load_recipe("block-zoo/tables.py"), (FOLDER / "README.md").read_text(encoding="utf-8")
    name, values = tables.trained_longer()
    assert (name, len(values[name])) == ("scratch_48", 100)
    told = {"zoo_20": 0.25, "naswot": 0.27, "parameters": 0.26, "macs": 0.24, "remapped": 0.54, "zoo_20_kept": 0.52}
    assert {one: float(f"{tables.correlation(values[one], values[name]):.2f}") for one in told} == told
    assert f"from {values['final_scratch'].mean():.3f} to {values[name].mean():.3f}" in page
    first = {quantity: some[:20] for quantity, some in values.items()}
    assert tables.correlation(first["zoo_20"], first[name]) == pytest.approx(0.58, abs=0.005)
    resampled = tables.bootstrapped(values, ("macs",), name)["macs"]
    assert resampled.std() == pytest.approx(0.10, abs=0.01)


def test_what_the_page_says_of_searches(load_recipe: Any) -> None:
    rows = [row for row in load_recipe("block-zoo/tables.py").rows_of(FOLDER / "search.csv") if row["data"] == "cifar10-8"]

    def of(by: str, quantity: str) -> np.ndarray:
        """Seeds × budgets × networks."""
        groups = [(seed, budget) for seed in "012" for budget in ("0.15", "0.3", "0.6")]
        where = [[row for row in rows if (row["seed"], row["budget"], row["found_by"]) == (*g, by)] for g in groups]
        return np.array([[float(row[quantity]) for row in some] for some in where])

    drawn = of("random", "distilled")
    told = {"zoo_20": (0.004, 0.001), "remapped": (0.002, 0.002), "macs": (-0.002, 0.002), "naswot": (-0.004, 0.002)}
    for by, (mean, error) in told.items():
        ahead = of(by, "distilled")[:, 0] - drawn.mean(1)
        assert (round(ahead.mean(), 3), round(ahead.std(ddof=1) / 3, 3)) == (mean, error)
    ahead = of("zoo_20", "scratch")[:, 0] - of("random", "scratch").mean(1)
    assert (round(ahead.mean(), 3), round(ahead.std(ddof=1) / 3, 3)) == (0.0, 0.006)
    assert (round(drawn.std(), 3), round(drawn.max(1).mean(), 3)) == (0.005, 0.453)
    assert round(of("zoo_20", "distilled").mean(), 3) == 0.451
    sizes = ImageSizes.scaled((3, 8, 8), 10, 0.15)
    assert of("zoo_20", "parameters")[2::3].max() < 0.5 * 0.6 * parameters(Mobilenet().largest(), sizes)
