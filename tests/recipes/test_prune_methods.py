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
    assert results.methods() in text


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
        rows = [{**tried, "validation": validation}, method, {**method, "polished": False}, {**method, "failure": "none"}]
        path.write_text("\n".join(map(json.dumps, rows)))
        results.add([path])
    (row,) = results.read("polish")
    assert (row["validation"], row["variants"], row["epochs"], row["learning_rate"]) == ("0.625", "0", "4", "0.0002")
    assert "| RTE | 1 | 2 | 0 | 4 | 0.0002 | 0.6250 | – |" in results.polishing()
    (only,) = results.read("methods")
    assert (only["validation"], only["test"]) == ("0.75", "")
    assert "| RTE | x | 1 | validation | – | 0.750 | – | – | – | – |" in results.methods()


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
