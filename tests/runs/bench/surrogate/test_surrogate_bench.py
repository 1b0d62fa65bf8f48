"""`secateur bench surrogate`: fit, query, evaluate; and searches of what was fitted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, norm
from sklearn.metrics import r2_score

import secateur
from secateur.errors import ConfigurationError, DataError, StudyError
from secateur.spaces.decoder import Decoder
from secateur.tables.opening import open_table
from secateur.testing.toy_curves import write_toy_curves

NETWORK = '{"backbone": "gpt2", "width": 16, "heads": [2, 2], "inner": [32, 48], "embedding": 0, "factor": 1}'


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    return lambda *change, **given: write_toy_curves(tmp_path_factory.mktemp("curves") / "toys.parquet", *change, **given)


@pytest.fixture(scope="module")
def folder(table: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("surrogate") / "toys"
    made = secateur.bench_surrogate_fit(str(table(seeds=2)), metric=["loss"], to=to, progress=False)
    assert "svd-lgb-seeds of 80 trainings of 40 networks; curves of 6 points (loss)" in str(made)
    assert f"bench search --table {to}" in str(made)
    return to


def test_what_is_asked_is_told_with_a_band(folder: Path, tmp_path: Path) -> None:
    expected = secateur.bench_surrogate_query(folder, NETWORK)
    rows = expected.rows()
    assert [row["budget"] for row in rows] == [10, 20, 30, 40, 50, 60]
    assert all(row["loss_low"] < row["loss"] < row["loss_high"] for row in rows)
    assert expected.values["seconds"] > 0
    noisy = secateur.bench_surrogate_query(folder, NETWORK, seed=1)
    assert noisy.curves != expected.curves
    assert noisy.low == expected.low
    (tmp_path / "network.json").write_text(json.dumps({"choices": json.loads(NETWORK)}))
    assert secateur.bench_surrogate_query(folder, str(tmp_path / "network.json"), seed=1).curves == noisy.curves
    assert "seconds:" in str(noisy)
    assert expected.as_dict()["curve"] == rows


def test_questions_that_cannot_be_answered(folder: Path, table: Any, tmp_path: Path) -> None:
    for text in ('{"width": 3}', "{", '{"choices": 4}', "missing.json", "[1]"):
        with pytest.raises(ConfigurationError, match="must be the JSON of an architecture of `decoder`"):
            secateur.bench_surrogate_query(folder, text)
    with pytest.raises(ConfigurationError, match="it is of the space `nasbench201`"):
        secateur.bench_surrogate_query(folder, f'{{"space": "nasbench201", "choices": {NETWORK}}}')
    with pytest.raises(ConfigurationError, match="outside the bounds of the space `decoder`"):
        secateur.bench_surrogate_query(folder, NETWORK.replace("[32, 48]", "[32, 72]"))
    with pytest.raises(ConfigurationError, match=r"does not read `loss@10`\. It reads: architectures alone"):
        secateur.bench_surrogate_query(folder, NETWORK, told=["loss@10=3"])
    with pytest.raises(StudyError, match="holds no surrogate"):
        secateur.bench_surrogate_query(tmp_path, NETWORK)
    made = secateur.bench_surrogate_fit(str(table()), feature=["loss@10"], to=tmp_path / "early", progress=False)
    assert made.surrogate.ways.noise == "kde", "there is one training of each network"
    assert "bench surrogate query" in str(made)
    with pytest.raises(ConfigurationError, match="give --told loss@10=NUMBER"):
        secateur.bench_surrogate_query(tmp_path / "early", NETWORK)
    for said in ("much", "nan", "inf"):
        with pytest.raises(ConfigurationError, match=rf"such as loss@10=3\.5, got `loss@10={said}`"):
            secateur.bench_surrogate_query(tmp_path / "early", NETWORK, told=[f"loss@10={said}"])
    assert secateur.bench_surrogate_query(tmp_path / "early", NETWORK, told=["loss@10=9"]).curves["loss"][0] > 0


def test_a_fitted_surrogate_is_searched(folder: Path, tmp_path: Path) -> None:
    asked = {"table": [str(folder)], "searcher": ["random", "local", "local+last:0.3", "hyperband"], "seeds": 3, "workers": 1}
    found = secateur.bench_search(**asked, seconds=60_000, to=tmp_path, progress=False)
    rows = found.rows()
    assert all(row["regret"] >= 0 for row in rows)
    at_end = {row["searcher"]: row["regret"] for row in rows if row["simulated_seconds"] == 60_000}
    assert at_end["local"] < at_end["random"]
    assert any("a surrogate (svd-lgb-seeds, version 2)" in note for note in found.said())
    frame = found.frame
    assert frame.groupby(["key", "seed", "budget"])["loss"].nunique().max() == 1
    again = frame.groupby(["key", "budget"])["loss"].nunique()
    assert again.max() > 1  # another seed, other noise
    assert set(frame.loc[frame["searcher"] == "local+last:0.3", "budget"]) == {20.0, 60.0}
    parts = secateur.bench_search(**{**asked, "workers": 2}, seconds=60_000, to=tmp_path / "again", progress=False)
    same = [row["loss@60"] for row in parts.rows()]
    assert same == [row["loss@60"] for row in rows]


def test_every_combination_is_judged_on_networks_held_out(table: Any, tmp_path: Path) -> None:
    path = table(seeds=3)
    asked = {"metric": ["loss"], "components": 2, "folds": 3, "draws": 20, "noise": ["kde", "seeds"], "workers": 2}
    found = secateur.bench_surrogate_evaluate(str(path), **asked, to=tmp_path, progress=False)
    rows = found.rows()
    combinations = {(row["compressor"], row["regressor"], row["noise"]) for row in rows}
    assert len(combinations) == len(rows) == 2 * 3 * 2
    one = found.frame[(found.frame["compressor"] == "svd") & (found.frame["regressor"] == "lgb")]
    known = open_table(str(path)).table.means
    assert sorted(one["key"]) == sorted(known.keys)
    true, predicted = (np.stack(one[name].to_list()) for name in ("true", "predicted"))
    assert np.allclose(true[:, -1], known.query(one["key"], "loss"))
    row = next(r for r in rows if (r["compressor"], r["regressor"], r["noise"]) == ("svd", "lgb", "kde"))
    assert row["r2_final"] == pytest.approx(r2_score(true[:, -1], predicted[:, -1]))
    assert row["r2"] == pytest.approx(r2_score(true, predicted))
    assert row["kendall_final"] == pytest.approx(kendalltau(true[:, -1], predicted[:, -1]).statistic)
    assert row["repeated"] == 40
    trainings = open_table(str(path)).table
    told = {
        key: (np.array(p), np.array(d)) for key, p, d in zip(one["key"], one["predicted"], one["deviation kde"], strict=True)
    }
    lacking = [np.abs(c - told[key][0]) / told[key][1] for key, c in zip(trainings.keys, trainings.curves["loss"], strict=True)]
    inside = np.stack(lacking) <= norm.ppf(0.95)
    assert (row["within"], row["within_final"]) == pytest.approx((inside.mean(), inside[:, -1].mean()))
    noisy = {r["noise"]: r["kl"] for r in rows if (r["compressor"], r["regressor"]) == ("svd", "lgb")}
    assert noisy["seeds"] > 0
    assert found.best["r2"] == max(r["r2"] for r in rows)
    html = (tmp_path / "surrogate.html").read_text()
    assert "Curves of networks held out" in html
    assert "autocorrelation" in html
    before = (tmp_path / "judgements.parquet").stat().st_mtime_ns
    again = secateur.bench_surrogate_evaluate(str(path), **asked, to=tmp_path, progress=False)
    assert again.rows() == rows
    assert (tmp_path / "judgements.parquet").stat().st_mtime_ns == before
    assert "KL" in str(again)


def test_one_seed_has_no_divergence_and_that_is_said(table: Any, tmp_path: Path) -> None:
    asked = {"compressor": ["svd"], "regressor": ["mlp"], "components": 2, "folds": 2, "to": tmp_path, "progress": False}
    found = secateur.bench_surrogate_evaluate(str(table()), **asked)
    assert any("needs networks that were trained with several seeds" in note for note in found.said())
    assert all(row["kl"] is None for row in found.rows())
    assert {row["metric"] for row in found.rows()} == {"loss", "train_loss"}
    assert "KL, end" not in str(found)
    with pytest.raises(ConfigurationError, match="the noise `seeds` needs networks with several seeds"):
        secateur.bench_surrogate_evaluate(str(table()), **asked, noise=["seeds"])


def test_tables_and_settings_that_do_not_do(table: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has curves of 11 networks: models need 10 to learn from"):
        secateur.bench_surrogate_evaluate(str(table(count=11)), to=tmp_path, progress=False)
    with pytest.raises(ConfigurationError, match="at least 10 architectures are needed, got 9"):
        secateur.bench_surrogate_fit(str(table(count=9)), to=tmp_path / "few", progress=False)
    with pytest.raises(DataError, match="has no learning curves"):
        secateur.bench_surrogate_fit("prune-stsb", to=tmp_path / "none", progress=False)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(StudyError, match="holds something else than a surrogate"):
        secateur.bench_surrogate_fit(str(table()), to=tmp_path / "other", progress=False)
    with pytest.raises(ConfigurationError, match="compressor"):
        secateur.bench_surrogate_fit(str(table()), compressor="pca", to=tmp_path / "x", progress=False)
    with pytest.raises(ConfigurationError, match="`path`"):
        secateur.bench_surrogate_fit(str(table()), encoding="path", to=tmp_path / "x", progress=False)


def test_the_space_of_the_toys_is_the_tables(folder: Path) -> None:
    assert isinstance(open_table(str(folder)).space, Decoder)
