"""The recipe on methods: its README shows the tables, and says what they say."""

from __future__ import annotations

import json
from pathlib import Path
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


def test_the_projects_readme_quotes_them(results: Any) -> None:
    found = results.means(results.read("methods"), ("task", "method"), "test")
    stsb, mrpc = ({s: f"{sum(v) / len(v):.3f}" for s, v in found[task, "weight-sharing"].items()} for task in ("stsb", "mrpc"))
    assert {stsb[share] for share in ("0.3", "0.5", "0.7")} == {"0.861"}
    first = f"STS-B has {stsb['0.1']} at 10 %, {stsb['0.2']} at 20 % and 0.861 from 30 % on"
    assert f"{first}, MRPC {mrpc['0.1']} at 10 % and {mrpc['0.2']} at 20 %" in (README.parents[2] / "README.md").read_text(
        encoding="utf-8"
    )


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


def test_what_the_text_says_of_methods(results: Any) -> None:
    """The figures of the bullets, from ablation.csv and methods.csv, on validation data."""
    default = [{**row, "label": row["method"]} for row in results.read("methods")]
    found = results.means([*results.read("ablation"), *default], ("task", "label"), "validation")
    mean = {key: {share: sum(v) / len(v) for share, v in shares.items()} for key, shares in found.items()}

    def gain(task: str, one: str, other: str) -> list[float]:
        return [round(mean[task, one][share] - mean[task, other][share], 4) for share in results.SHARES]

    assert max(map(abs, gain("stsb", "teacher", "ours") + gain("mrpc", "teacher", "ours"))) < 0.006
    assert all(0.0065 < value < 0.0135 for value in gain("stsb", "fsuper", "ours"))
    assert all(value < 0 for value in gain("mrpc", "fsuper", "ours"))
    assert [gain(task, "weight-sharing", "ours")[0] for task in ("stsb", "mrpc")] == pytest.approx([0.0163, 0.0167], abs=1e-3)
    others = {label for _, label in mean} - {"weight-sharing", *results.LABELS} | {"fisher, unpolished"}
    for task in ("stsb", "mrpc", "rte"):
        ours = mean[task, "weight-sharing"]
        for other in others:
            theirs = mean.get((task, other), {})
            assert all(ours[share] >= theirs[share] for share in results.SHARES if share in theirs), (task, other)
    polished = {
        task: [
            round(mean[task, "weight-sharing"][s] - sum(float(r["validation"]) for r in rows) / len(rows), 4)
            for s in results.SHARES
            for rows in [[r for r in default if (r["method"], r["task"], r["share"]) == ("fisher", task, s)]]
        ]
        for task in ("stsb", "mrpc", "rte")
    }
    assert all(value > 0 for value in polished["mrpc"] + polished["rte"] + polished["stsb"][:2])
    assert all(-0.0045 < value < 0 for value in polished["stsb"][2:])
    against = gain("stsb", "weight-sharing", "one-shot"), gain("mrpc", "weight-sharing", "one-shot")
    assert against[0][0] == pytest.approx(0.015, abs=0.0006)
    assert max(against[0][1:]) < 0.01
    assert against[1][0] == pytest.approx(0.003, abs=0.0006)
    assert all(0.017 < value < 0.026 for value in against[1][1:])
