"""The recipe on methods: its README shows the tables, and says what they say."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

README = Path(__file__).resolve().parent.parent.parent / "recipes/prune-methods/README.md"


@pytest.fixture
def results(load_recipe: Any) -> Any:
    return load_recipe("prune-methods/results.py")


def test_readme_shows_the_tables(results: Any) -> None:
    text = README.read_text(encoding="utf-8")
    assert results.polishing() in text
    assert results.ablation() in text
    assert results.methods("validation") in text
    assert results.methods("test") in text
    assert results.gains() in text
    assert results.searchers() in text


def test_the_projects_readme_quotes_them(results: Any) -> None:
    found = results.means(results.compared(), ("task", "method"), "test")
    ours = {task: found[task, "weight-sharing"]["0.1"] for task in ("stsb", "sst2", "mrpc")}
    assert {len(values) for values in ours.values()} == {5}
    stsb, sst2, mrpc = (f"{sum(values) / 5:.3f}" for values in ours.values())
    text = (README.parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"At 10 %, STS-B has {stsb}, SST-2 {sst2} and MRPC {mrpc}." in text


def test_rows_are_added_and_replaced(results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path)
    said = {"candidates": 2, "polish_epochs": 4.0, "polish_learning_rate": 2e-4}
    tried = {
        "model": "m",
        "task": "rte",
        "seed": 0,
        "share": 0.1,
        "settings": said,
        "used": 0.09,
        "validation": 0.5,
        "test": 0.25,
    }
    method = {
        "method": "x",
        "task": "rte",
        "seed": 0,
        "share": 0.1,
        "polished": True,
        "validation": 0.75,
        "test": None,
        "seconds": 9.0,
    }
    path = tmp_path / "rows.jsonl"
    for validation in (0.5, 0.625):
        rows = [{**tried, "validation": validation}, {**tried, "label": "ours"}, method, {**method, "polished": False}]
        rows += [{**method, "failure": "none"}, {**method, "method": "fisher", "polished": False, "validation": 0.5}]
        path.write_text("\n".join(map(json.dumps, rows)))
        results.add([path])
    (row,) = results.read("polish")
    assert (row["validation"], row["variants"], row["epochs"], row["learning_rate"]) == ("0.625", "0", "4", "0.0002")
    assert "| RTE | 1 | 2 | 0 | 4 | 0.0002 | 0.6250 | – |" in results.polishing()
    bare, only = results.read("methods")
    assert (only["validation"], only["test"], bare["method"]) == ("0.75", "", "fisher, unpolished")
    assert "| MiniLM-L6 | method |" in results.methods("validation")
    assert "| RTE | x | 1 | **0.750** | – | – | – | – | – | – |" in results.methods("validation")
    assert "| RTE | fisher, unpolished | 1 | 0.500 | – | – | – | – | – | – |" in results.methods("validation")
    (row,) = results.read("ablation")
    assert (row["label"], row["validation"]) == ("ours", "0.5")


def test_what_the_text_says(results: Any) -> None:
    """The figures of the bullets, from polish.csv."""
    names = ("task", "candidates", "variants", "epochs", "learning_rate")
    seeds = results.means(results.read("polish"), names, "validation")
    found = {key: {share: sum(v) / len(v) for share, v in shares.items()} for key, shares in seeds.items()}
    low, usual, high = (found["stsb", "1", "0", "4", rate] for rate in ("5e-05", "0.0002", "0.0004"))
    assert usual["0.1"] - low["0.1"] == pytest.approx(0.02, abs=0.002)
    assert all(high[share] < usual[share] for share in ("0.3", "0.5", "0.7"))
    more = found["stsb", "1", "3", "2", "0.0002"]
    assert [round(more[s] - usual[s], 3) for s in ("0.1", "0.2")] == [0.015, 0.007]
    plain, varied = found["mrpc", "1", "0", "4", "0.0002"], found["mrpc", "1", "3", "2", "0.0002"]
    assert all(0.005 <= plain[s] - varied[s] <= 0.011 for s in ("0.1", "0.2", "0.3", "0.5"))
    rows = [r for r in results.read("polish") if (r["variants"], r["epochs"], r["learning_rate"]) == ("3", "2", "0.0002")]
    same = results.means([r for r in rows if r["seed"] in "01"], ("task", "candidates"), "validation")
    gains = {
        (task, share): sum(same[task, "4"][share]) / 2 - sum(same[task, "1"][share]) / 2
        for task in ("stsb", "mrpc")
        for share in results.SHARES
    }
    assert gains.pop(("mrpc", "0.1")) == pytest.approx(0.008, abs=0.0005)
    assert max(map(abs, gains.values())) < 0.0055


def test_what_the_text_says_of_the_short_run() -> None:
    import pandas

    frame = pandas.read_parquet(README.parent / "bench-reviews.parquet")
    drawn = frame[(frame["experiment"] == "spaces") & (frame["kind"] == "trial")]
    assert set(drawn.groupby(["arm", "seed"]).size()) == {20}
    chance = (drawn["error"] > 0.49).groupby(drawn["arm"]).mean()
    assert {arm: round(100 * share) for arm, share in chance.items()} == {"small": 90, "medium": 2, "large": 15, "layer": 38}
    assert frame["cell"].nunique() == 28


def test_what_the_text_says_of_searchers(results: Any) -> None:
    found = {(r["table"], r["searcher"], r["queries"]): float(r["regret"]) for r in results.read("searchers")}
    tables, searchers = ({key[i] for key in found} for i in range(2))
    assert {row["seeds"] for row in results.read("searchers")} == {"30"}
    for table in tables:
        early = {s: found[table, s, "25"] for s in searchers}
        assert early["ehvi"] == pytest.approx(min(early.values()), abs=0.001)
        assert abs(early["local+aimed"] - early["ehvi"]) < 0.0105
    for table in ("prune-stsb", "prune-mrpc"):
        assert all(min(searchers, key=lambda s: found[table, s, q]) == "ehvi" for q in ("75", "100"))
    assert found["prune-sst2", "ehvi", "100"] == pytest.approx(found["prune-sst2", "random", "100"], abs=0.005)
    assert all(min(searchers, key=lambda s: found["prune-sst2", s, q]) == "local" for q in ("50", "75", "100"))


def _means(found: Any) -> dict[Any, dict[str, float]]:
    return {key: {share: sum(v) / len(v) for share, v in shares.items()} for key, shares in found.items()}


def test_what_the_text_says_of_contenders(results: Any) -> None:
    """The figures of the bullets, from ablation.csv, on validation data."""
    mean = _means(results.ablated())

    def gain(task: str, one: str, other: str) -> list[float]:
        return [round(mean[task, one][share] - mean[task, other][share], 4) for share in results.SHARES]

    assert max(map(abs, gain("stsb", "teacher", "ours") + gain("mrpc", "teacher", "ours"))) < 0.006
    assert all(0.0065 < value < 0.0135 for value in gain("stsb", "fsuper", "ours"))
    assert all(value < 0 for value in gain("mrpc", "fsuper", "ours"))
    assert [gain(task, "weight-sharing", "ours")[0] for task in ("stsb", "mrpc")] == pytest.approx([0.0135, 0.008], abs=1e-3)
    rates = {rate: mean["sst2", rate] for rate in ("polished-at-5e-5", "weight-sharing", "polished-at-2e-4")}
    best = {share: max(rates, key=lambda rate: rates[rate][share]) for share in results.SHARES}
    assert best["0.1"] == "polished-at-2e-4"
    assert {best["0.5"], best["0.7"]} == {"polished-at-5e-5"}
    assert max(rates[best[share]][share] - rates["weight-sharing"][share] for share in results.SHARES) < 0.004


def test_what_the_text_says_of_methods(results: Any) -> None:
    """The figures of the bullets, from methods.csv, on validation data."""
    mean = _means(results.means(results.compared(), ("task", "method"), "validation"))
    assert {len(v) for t in results.TASKS for v in results.differences("test")[t, "fisher"].values()} == {5}
    published = {m for _, m in mean} - {"weight-sharing", *results.RIVALS, "weight-sharing, unpolished"}
    for task in results.TASKS:
        for theirs in (mean[task, method] for method in published if (task, method) in mean):
            assert all(mean[task, "weight-sharing"][s] >= theirs[s] for s in results.SHARES if s in theirs), (task, published)
    leads = _means(results.differences("validation"))
    assert [leads["stsb", rival]["0.1"] for rival in ("fisher", "one-shot")] == pytest.approx([0.01, 0.012], abs=6e-4)
    assert leads["stsb", "one-shot"]["0.3"] == pytest.approx(0.01, abs=6e-4)
    assert all(-0.0075 < leads["stsb", "fisher"][share] < -0.0045 for share in ("0.5", "0.7"))
    assert all(lead > 0 for lead in leads["mrpc", "fisher"].values())
    assert all(leads["mrpc", "one-shot"][share] > 0 for share in results.SHARES[1:])
    assert all(abs(leads["sst2", rival][s]) < 0.003 for rival in ("fisher", "one-shot") for s in results.SHARES[1:])
    masks = {task: [round(leads[task, "learned-masks"][share], 3) for share in results.SHARES] for task in ("stsb", "mrpc")}
    assert (masks["stsb"][:2], min(masks["mrpc"]), max(masks["mrpc"])) == ([0.013, -0.009], 0.018, 0.033)
    assert all(abs(lead) <= 0.004 for task in ("stsb", "sst2") for lead in [*leads[task, "learned-masks"].values()][2:])
    for task in ("mrpc", "sst2", "rte"):
        for several in results.differences("validation")[task, "one-shot"].values():
            assert sum(several) / len(several) < 2 * stdev(several) / len(several) ** 0.5
    large = _means(results.means(results.compared("gte-small"), ("task", "method"), "validation"))
    against = {
        (t, s): large[t, "weight-sharing"][s] - large[t, "one-shot"][s] for t in ("stsb", "mrpc") for s in results.SHARES
    }
    assert against["mrpc", "0.1"] == pytest.approx(0.012, abs=6e-4)
    assert max(against["stsb", share] for share in results.SHARES) < 0.0015
    text = README.read_text(encoding="utf-8")
    unpruned = [row for row in results.compared() if row["share"] == "unpruned"]
    spent = {
        t: [float(r["seconds"]) for r in unpruned if (r["method"], r["task"]) == ("weight-sharing", t)] for t in results.TASKS
    }
    stsb, mrpc, sst2 = (f"{sum(spent[task]) / 5:.0f} s" for task in ("stsb", "mrpc", "sst2"))
    assert f"takes {stsb} (STS-B), {mrpc} (MRPC) and {sst2} (SST-2)" in text
