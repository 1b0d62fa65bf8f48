"""The table of learning curves that comes with the package is made of the benchmark's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from secateur.architecture import Architecture
from secateur.tables.opening import open_table

DESIGN = Path(__file__).resolve().parents[2] / "recipes" / "design"


def test_the_shipped_curves_are_those_of_the_benchmark(load_recipe: Any) -> None:
    recipe, shipped = load_recipe("design/curves.py"), open_table("curves-wikitext2")
    table = shipped.table
    measured = {
        key: {"latency": float(latency), "memory": float(memory)}
        for key, latency, memory in zip(table.keys, table.column("latency"), table.column("memory"), strict=True)
    }
    rows = recipe.rows(pd.read_parquet(DESIGN / "benchmark.parquet").to_dict("records"), recipe.Protocol(), measured)
    assert [row["architecture"].key for row in rows] == list(table.keys)
    assert [row["seed"] for row in rows] == table.seed.tolist()
    for name in ("loss", "train_loss"):
        assert np.array_equal([row[name] for row in rows], table.curves[name])
    assert table.seconds is not None
    assert np.allclose([row["seconds"] for row in rows], table.seconds)
    assert table.budgets.tolist() == [125.0 * k for k in range(1, 21)] or table.budgets.ndim == 2
    assert f"{len(table)} trainings of {table.distinct} GPT-2 decoders" in shipped.about
    assert np.allclose(np.log(table.column("perplexity")), table.column("loss"), rtol=0.03)


def test_trainings_side_by_side_are_no_worse(load_recipe: Any) -> None:
    """`more` and `random` are drawn from one space: their perplexities are spread alike."""
    rows = pd.read_parquet(DESIGN / "benchmark.parquet")
    logs = {source: np.log(rows["perplexity"][rows["source"] == source]) for source in ("random", "more")}
    again = pd.read_csv(DESIGN / "side-by-side.csv")
    assert np.abs(np.log(again["side by side"] / again["one by one"])).max() < 0.005
    half = np.log(again["in half precision"] / again["one by one"])
    text = " ".join((DESIGN / "README.md").read_text(encoding="utf-8").split())
    assert f"perplexities that are {-100 * half.mean():.1f} ± {100 * half.sem():.1f} % lower on average" in text
    seeds = rows.pivot_table(index="architecture", columns="seed", values="perplexity")[[0, 1]].dropna()
    apart = np.log(seeds[1] / seeds[0]).std()
    assert f"each differs by {100 * half.std():.1f} %, where two seeds differ by {100 * apart:.1f} %" in text
    error = np.sqrt(sum(values.var() / len(values) for values in logs.values()))
    assert logs["more"].mean() == pytest.approx(logs["random"].mean(), abs=3 * error)
    assert {Architecture.from_json(text).space for text in rows["architecture"]} == {"decoder"}


def test_the_table_of_many_tiny_decoders(load_recipe: Any) -> None:
    recipe, shipped = load_recipe("design/curves.py"), open_table("curves-shakespeare")
    table, protocol = shipped.table, recipe.PROTOCOLS["shakespeare"]
    seeds = pd.Series(table.seed).groupby(list(table.keys)).nunique()
    assert (len(seeds), int((seeds == 5).sum()), len(table)) == (600, 40, 760)
    assert f"{len(table)} trainings of {table.distinct} GPT-2 decoders" in shipped.about
    assert table.curves["loss"].shape == (760, 20)
    assert np.isfinite(table.curves["loss"]).all()
    assert table.budgets.tolist() == [protocol.steps / 20 * k for k in range(1, 21)] or table.budgets.ndim == 2
    assert np.allclose(np.log(table.column("perplexity")), table.column("loss"), rtol=0.03)
    assert spearmanr(table.column("perplexity"), table.column("test_perplexity")).statistic > 0.99
    jobs = load_recipe("design/jobs.py").random_jobs("gpt2", 600, 40, 0, seeds=5, space="tiny")
    assert {job.name for job in jobs} == set(zip(table.keys, table.seed.tolist(), strict=True))
