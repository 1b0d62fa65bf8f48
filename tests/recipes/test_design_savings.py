"""The savings of a tiny finished run."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import secateur.runs.design.stages as stages
from secateur.runs.opening import open_run
from secateur.verbs.design import design

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def savings(load_recipe: Any) -> Any:
    return load_recipe("design/savings.py")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("savings") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "BASELINE_LAYERS", range(1, 2))
        design(
            to=folder,
            layers="1..2",
            width="16",
            inner="32..64:16",
            heads="2",
            embedding="8",
            vocabulary=60,
            positions=16,
            length=8,
            trials=6,
            measure="all",
            seconds=0.05,
            unsteady=True,
            progress=False,
        )
    return folder


def test_rows_are_those_of_the_run(savings: Any, finished: Path) -> None:
    baselines = open_run(finished).baselines
    rows = savings.rows_of(finished)
    assert [(row["baseline"], row["layers"]) for row in rows] == [(b["family"], b["layers"]) for b in baselines]
    assert len(rows) == 2
    for row, baseline in zip(rows, baselines, strict=True):
        assert row["backbone"] == "gpt2"
        assert row["decoder_parameters"] == baseline["values"]["decoder_parameters"]
        assert row["latency"] == round(baseline["values"]["latency"] * 1e3, 2)
        assert row["memory"] == round(baseline["values"]["memory"] * 1e-6, 1)
        # A layer of GPT-2 small has more decoder parameters than all of this space.
        assert row["latency_front"] is row["latency_times"] is row["memory_front"] is row["memory_times"] is None
        assert row["quickest"] is None


def test_a_baseline_that_the_front_reaches(savings: Any, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        {"family": "F", "layers": 1, "proxy": 100.0, "latency": 0.3, "latency_front": 0.1, "memory": 9e6, "memory_front": 6e6}
    ]
    monkeypatch.setattr(savings, "comparison_rows", lambda data: found)
    assert savings.rows_of(finished) == [
        {
            "backbone": "gpt2",
            "baseline": "F",
            "layers": 1,
            "decoder_parameters": 100,
            "latency": 300.0,
            "latency_front": 100.0,
            "latency_times": 3.0,
            "memory": 9.0,
            "memory_front": 6.0,
            "memory_times": 1.5,
            "quickest": str(min(open_run(finished).front, key=lambda m: m.values["latency"]).architecture),
        }
    ]


def test_the_csv_of_runs(savings: Any, finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    savings.main([str(finished), str(finished)])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 4
    assert rows[:2] == rows[2:]
    assert rows[0]["latency_front"] == ""


@pytest.mark.parametrize(
    ("family", "row"),
    [
        ("GPT-2 small with embedding 128", "GPT-2, decoders alone (same embedding)"),
        ("GPT-2 small", "GPT-2, against the published network"),
        ("Transformer-XL base with embedding 128", "Transformer-XL, decoders alone (same embedding)"),
        ("Transformer-XL base", "Transformer-XL, against the published network"),
    ],
)
def test_the_tables_say_what_the_measurements_say(family: str, row: str) -> None:
    with (ROOT / "recipes" / "design" / "savings.csv").open(encoding="utf-8") as file:
        found = [r for r in csv.DictReader(file) if r["baseline"] == family]
    assert [int(r["layers"]) for r in found] == list(range(1, 17))
    mean, last = (
        {cost: sum(float(r[f"{cost}_times"]) for r in rows) / len(rows) for cost in ("latency", "memory")}
        for rows in (found, found[-1:])
    )
    cells = [mean["latency"], last["latency"], mean["memory"]]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"| {row} | {' | '.join(f'{cell:.2f} ×' for cell in cells)} |" in readme
    recipe = (ROOT / "recipes" / "design" / "README.md").read_text(encoding="utf-8")
    assert f"| {' | '.join(f'{cell:.2f} ×' for cell in [*cells, last['memory']])} |" in recipe
