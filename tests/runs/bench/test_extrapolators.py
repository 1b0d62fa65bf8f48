"""`secateur bench extrapolators` on made-up trainings; and searchers that are flagged on surrogates of their own kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

import secateur
from secateur.errors import ConfigurationError, DataError
from secateur.predictors.curves.extrapolators import LastValue
from secateur.rng import generator
from secateur.runs.bench.extrapolation import Subject
from secateur.tables.opening import open_table
from secateur.testing.toy_curves import write_toy_curves


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy_curves(tmp_path_factory.mktemp("curves") / "toys.parquet", seeds=2)


def bench(table: Path, to: Path, **given: Any) -> Any:
    asked = {"extrapolator": ["last", "svr"], "share": "20,50", "train": "12", "seeds": 3, "workers": 1}
    return secateur.bench_extrapolators(table=[str(table)], **{**asked, **given}, to=to, progress=False)


def test_ends_are_judged_by_the_formulas(table: Path, tmp_path: Path) -> None:
    found = bench(table, tmp_path)
    rows = {(row["share"], row["extrapolator"]): row for row in found.rows()}
    assert len(rows) == 4
    trained = open_table(str(table)).table
    known = trained.take(trained.seed == 0)  # the first training of each network
    curves = known.curves["loss"]
    each = []
    for seed in range(3):
        order = generator(seed, "split").permutation(40)
        tested, learnt = order[:28], order[28:]
        model = LastValue(known.budgets, 1)
        model.learn(np.zeros((12, 0)), curves[learnt])
        means, _ = model.predict(np.zeros((28, 0)), curves[tested, :1])
        each.append((kendalltau(curves[tested, -1], means).statistic, np.sqrt(((means - curves[tested, -1]) ** 2).mean())))
    row = rows[10 / 60, "last"]  # the point that is nearest to a fifth
    assert (row["kendall"], row["rmse"]) == pytest.approx(tuple(np.mean(each, axis=0)))
    assert (row["budget"], row["test"], row["seeds"]) == (10.0, 28, 3)
    assert rows[0.5, "last"]["budget"] == 30.0
    assert "loss at the end of 40 networks' trainings" in found.said()[0]
    assert "Kendall" in str(found)
    assert "over trainings known" in (tmp_path / "extrapolators.html").read_text()
    again = bench(table, tmp_path, workers=2)
    assert again.rows() == found.rows()


def test_shares_that_end_at_one_point_are_one(table: Path, tmp_path: Path) -> None:
    found = bench(table, tmp_path, share="10,15,20", extrapolator=["last"])
    assert [row["share"] for row in found.rows()] == [10 / 60]


def test_columns_are_told_beside_architectures(table: Path, tmp_path: Path) -> None:
    plain, told = (
        bench(table, tmp_path, extrapolator=["svr"], share="20", **more).rows()[0] for more in ({}, {"feature": ["latency"]})
    )
    assert plain["rmse"] != told["rmse"]
    with pytest.raises(DataError, match="has no column `proxy`"):
        bench(table, tmp_path, feature=["proxy"])
    with pytest.raises(ConfigurationError, match="the feature `loss` is the end of a curve"):
        bench(table, tmp_path, feature=["loss"])


def test_of_a_surrogate_noisy_trainings_are_told(table: Path, tmp_path: Path) -> None:
    to = tmp_path / "toys"
    secateur.bench_surrogate_fit(str(table), metric=["loss"], components=2, to=to, progress=False)
    opened = open_table(str(to))
    known, expected = Subject(opened, "loss").known, opened.table
    assert len(known) == len(expected)
    apart = np.abs(known.curves[:, 0] - expected.curves["loss"])
    assert 0.001 < apart.mean() < 0.05


def test_what_cannot_be_compared(table: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="35 trainings to learn from and 10 to test on are more than its 40"):
        bench(table, tmp_path, train="35")
    with pytest.raises(ConfigurationError, match="`train` must be at least 10 trainings"):
        bench(table, tmp_path, train="5")
    with pytest.raises(ConfigurationError, match="`share` must lie in 1…99 per cent"):
        bench(table, tmp_path, share="0,20")
    with pytest.raises(DataError, match="has no learning curves"):
        bench(Path("prune-stsb"), tmp_path)
    with pytest.raises(ConfigurationError, match="unknown extrapolator `pfn`"):
        bench(table, tmp_path, extrapolator=["pfn"])

    def one_point(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row |= {name: row[name][-1:] for name in ("budgets", "loss", "train_loss")}

    with pytest.raises(DataError, match="has curves of one point: there is no beginning"):
        bench(write_toy_curves(tmp_path / "one.parquet", one_point), tmp_path)


def test_searchers_of_the_surrogates_own_kind_are_flagged(table: Path, tmp_path: Path) -> None:
    for regressor, flagged in (("mlp", True), ("lgb", False)):
        to = tmp_path / regressor
        secateur.bench_surrogate_fit(str(table), metric=["loss"], regressor=regressor, components=2, to=to, progress=False)
        found = secateur.bench_search(
            table=[str(to)], searcher=["random", "bananas"], queries=3, seeds=2, workers=1, to=tmp_path / "b", progress=False
        )
        noted = [note for note in found.said() if "bananas works by fully connected networks" in note]
        assert bool(noted) == flagged
    with pytest.raises(ConfigurationError, match=r"`until_best` needs a table .* `lgb` is a surrogate"):
        secateur.bench_search(table=[str(to)], searcher=["random"], queries=3, until_best=True, to=tmp_path / "b")
