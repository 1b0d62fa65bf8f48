"""The table of trained decoders is whole, and the recipe's text shows how proxies rank it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, spearmanr

from secateur.architecture import Architecture
from secateur.decoders import Builder, Sizes
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_counts import decoder_parameters

pytestmark = pytest.mark.slow

DESIGN = Path(__file__).resolve().parents[2] / "recipes" / "design"


@pytest.fixture(scope="module")
def proxies(load_recipe: Any) -> Any:
    return load_recipe("design/proxies.py")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.read_parquet(DESIGN / "benchmark.parquet")


def test_the_table_is_whole(table: pd.DataFrame, load_recipe: Any) -> None:
    benchmark = load_recipe("design/benchmark.py")
    protocol, space = benchmark.Protocol(), Decoder("gpt2", **benchmark.random_jobs.__globals__["SPACES"]["small"])
    builder = Builder(Sizes(vocabulary=protocol.vocabulary, cutoffs=protocol.cutoffs, positions=protocol.length))
    drawn = [job.architecture.key for job in benchmark.random_jobs("gpt2", 150, 15, 40) if job.source == "random"]
    random = set(table["architecture"][table["source"] == "random"].map(lambda said: Architecture.from_json(said).key))
    assert random == set(drawn)
    twice = table[table["source"] == "random"].groupby("architecture").size()
    assert (twice == 2).sum() == 15 == len(table[(table["source"] == "random") & (table["seed"] == 1)])
    assert (table["source"] == "homogeneous").sum() == 40
    assert not table.duplicated(["architecture", "seed", "source"]).any()
    for number, row in enumerate(table.to_dict("records")):
        found = Architecture.from_json(row["architecture"])
        assert row["source"] not in ("random", "homogeneous") or space.contains(found)
        assert row["decoder_parameters"] == decoder_parameters(found)
        assert row["learning_rate"] == protocol.rate(found)
        assert list(row["steps"]) == [max(1, round(share * protocol.steps)) for share in benchmark.SHARES]
        assert np.isfinite([*row["curve"], *row["train_curve"]]).all()
        # The curve's last point is on a part of the validation text, the perplexity on all of it.
        assert math.log(row["perplexity"]) == pytest.approx(row["curve"][-1], rel=0.03)
        assert row["perplexity"] < row["test_perplexity"] * 1.2 < row["perplexity"] * 1.5
        assert 1e-4 < row["latency"] < 1 or (row["source"] in ("more", "seeds") and math.isnan(row["latency"]))
        if number % 20 == 0:
            assert row["parameters"] == sum(p.numel() for p in builder.meta(found).parameters())


def test_the_table_can_be_added_to(table: pd.DataFrame, load_recipe: Any, tmp_path: Path) -> None:
    benchmark = load_recipe("design/benchmark.py")
    benchmark.main(["unpack", "--from", str(DESIGN / "benchmark.parquet"), "--out", str(tmp_path)])
    benchmark.main(["merge", "--out", str(tmp_path), "--to", str(tmp_path / "again.parquet")])
    again = pd.read_parquet(tmp_path / "again.parquet")
    pd.testing.assert_frame_equal(again, table.drop(columns=["latency", "memory"]))
    other = table.assign(vocabulary=999)
    other.to_parquet(tmp_path / "other.parquet")
    with pytest.raises(SystemExit, match="another protocol"):
        benchmark.main(["unpack", "--from", str(tmp_path / "other.parquet"), "--out", str(tmp_path)])


def test_the_figures_are_those_of_the_table(proxies: Any, table: pd.DataFrame) -> None:
    judged = table[table["source"] == "random"]
    random = judged.groupby("architecture", as_index=False)
    by_proxy = {row["proxy"]: row for row in proxies.read("proxies.csv")}
    loss = np.log(judged["perplexity"]).groupby(judged["architecture"]).mean()  # seeds are averaged in logarithms
    for proxy in ("decoder_parameters", "parameters"):
        counted = random.first().set_index("architecture")[proxy]
        row, true = by_proxy[proxy], loss[counted.index]
        assert int(row["networks"]) == len(counted)
        assert float(row["spearman"]) == pytest.approx(spearmanr(counted, -true).statistic, abs=1e-9)
        assert float(row["kendall"]) == pytest.approx(kendalltau(counted, -true).statistic, abs=1e-9)


@pytest.mark.parametrize("cost", ["latency", "memory"])
def test_the_fronts_are_those_of_the_table(proxies: Any, table: pd.DataFrame, cost: str) -> None:
    """Which of the true front's members more decoder parameters at no higher cost leave in the proxy's, by comparing all."""
    random = (
        table[table["source"] == "random"]
        .groupby("architecture")
        .agg({"perplexity": lambda some: np.exp(np.log(some).mean()), "decoder_parameters": "first", cost: "first"})
    )

    def front(worth: pd.Series) -> set[str]:
        price = random[cost]
        return {
            name
            for name in random.index
            if not ((worth >= worth[name]) & (price <= price[name]) & ((worth > worth[name]) | (price < price[name]))).any()
        }

    true, picks = front(-random["perplexity"]), front(random["decoder_parameters"])
    (row,) = (r for r in proxies.read("fronts.csv") if (r["proxy"], r["cost"]) == ("decoder_parameters", cost))
    assert (int(row["members"]), int(row["picked"])) == (len(true), len(picks))
    assert float(row["found"]) == pytest.approx(len(true & picks) / len(true))


def test_the_text_says_what_the_table_holds(table: pd.DataFrame) -> None:
    text = " ".join((DESIGN / "README.md").read_text(encoding="utf-8").split())
    random = table[(table["source"] == "random") & (table["seed"] == 0)]
    counts = table[table["seed"] == 0].groupby("source").size()
    again = table[table["seed"] > 0].groupby("source").size()
    assert f"| `random` | {counts['random']} | drawn at random; {again['random']} of them twice" in text
    assert f"| `seeds` | {again['seeds']} |" in text
    assert f"{((table['half'] == 'bf16') & (table['source'] == 'more')).sum()} networks of `more` and all of `seeds`" in text
    assert f"| `more` | {counts['more']} |" in text
    assert f"| `homogeneous` | {counts['homogeneous']} |" in text
    changes = (DESIGN.parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"a table of {table['architecture'].nunique()} trained decoders" in changes
    assert f"| `topology` | {counts['topology']} |" in text
    assert f"| `search`, `evolution` | {counts['search']}, {counts['evolution']} |" in text
    assert f"| `baseline`, `lts` | {counts['baseline']}, {counts['lts']} |" in text
    both = table[table["source"] == "random"].pivot(index="architecture", columns="seed", values="perplexity").dropna()
    assert f"two trainings of one differ by {np.abs(np.log(both[1] / both[0])).mean():.1%}".replace("%", " %") in text
    least, most = random["perplexity"].min(), random["perplexity"].max()
    assert f"Perplexities of the random networks lie between {least:.1f} and {most:.1f}" in text
    agree = spearmanr(random["perplexity"], random["test_perplexity"]).statistic
    assert f"validation and test rank the networks alike, Spearman {agree:.4f}" in text
    found = random["architecture"].map(Architecture.from_json)
    projected = found.map(lambda a: a["embedding"] not in (0, a["width"])).to_numpy()
    every, without, with_one = (
        spearmanr(rows["decoder_parameters"], -rows["perplexity"]).statistic
        for rows in (random, random[~projected], random[projected])
    )
    assert f"decoder parameters reach {every:.2f}" in text
    assert f"reach {without:.2f} ({(~projected).sum()} networks), with one {with_one:.2f} ({projected.sum()})" in text
    # log perplexity: a parabola of the logarithm of decoder parameters, and a step where there is a projection.
    size = np.log(random["decoder_parameters"].to_numpy())
    terms = np.column_stack([np.ones(len(size)), size, size**2, projected])
    step = np.linalg.lstsq(terms, np.log(random["perplexity"].to_numpy()), rcond=None)[0][-1]
    assert f"a projection costs {np.exp(step) - 1:.0%} of perplexity".replace("%", " %") in text
    guide = (DESIGN.parents[1] / "docs/how-to/design.md").read_text(encoding="utf-8")
    assert f"of a different width costs {np.exp(step) - 1:.0%} of perplexity".replace("%", " %") in guide


def test_the_text_shows_the_figures(proxies: Any) -> None:
    text = (DESIGN / "proxies.md").read_text(encoding="utf-8")
    for found in proxies.everything().split("\n\n"):
        assert found in text
    (first,) = (row for row in proxies.read("proxies.csv") if row["proxy"] == "decoder_parameters")
    readme = (DESIGN.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"trained on WikiText-2, with {float(first['spearman']):.3f}" in readme


def test_tables_of_a_run(proxies: Any, tmp_path: Path) -> None:
    summary = [
        {"proxy": "partial_5%", "spearman": 0.9, "spearman_low": 0.8, "spearman_high": 0.95, "kendall": 0.7, "flops": 1.5e12},
        {"proxy": "snip", "spearman": 0.25, "spearman_low": 0.1, "spearman_high": 0.4, "kendall": 0.2, "seconds": 0.0123},
        {"proxy": "grasp", "flops": 2e9},
    ]
    ranking = [{"proxy": "snip", "share": share, "spearman": share / 2, "common_ratio": share} for share in proxies.SHARES]
    fronts = [
        {"proxy": "snip", "cost": "memory", "members": 9, "found": 1.0, "gap": 0.5},
        {"proxy": "snip", "cost": "latency", "members": 8, "found": 0.25, "gap": 0.031},
    ]
    for name, rows in (("proxies.csv", summary), ("ranking.csv", ranking), ("fronts.csv", fronts)):
        columns = list(
            dict.fromkeys(key for row in [*rows, *([{"seconds": 0}] if name == "proxies.csv" else [])] for key in row)
        )
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
    proxies.keep(tmp_path, tmp_path, tmp_path)
    assert proxies.overall(tmp_path).splitlines()[2:] == [
        "| snip | 0.250 | 0.100 … 0.400 | 0.200 | 0.250 | 2 of 8 | 3.1% | – | 12.3 ms |",
        "| grasp | – | – … – | – | – | – | – | 2.00 G | – |",
        "| partial_5% | 0.900 | 0.800 … 0.950 | 0.700 | 0.900 | – | – | 1.50 T | – |",
    ]
    assert proxies.by_share("common_ratio", tmp_path).splitlines()[2] == "| snip | 0.10 | 0.20 | 0.30 | 0.50 | 0.70 | 1.00 |"
