"""The savings of a tiny finished run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from secateur.runs.folder import open_run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def savings(load_recipe: Any) -> Any:
    return load_recipe("design/savings.py")


def test_rows_are_those_of_the_run(savings: Any, designed: Path) -> None:
    baselines = open_run(designed).baselines
    rows = savings.rows_of(designed)
    assert [(row["baseline"], row["layers"]) for row in rows] == [(b["family"], b["layers"]) for b in baselines]
    assert len(rows) == 6
    for row, baseline in zip(rows, baselines, strict=True):
        assert row["backbone"] == "gpt2"
        assert row["decoder_parameters"] == baseline["values"]["decoder_parameters"]
        assert row["latency"] == round(baseline["values"]["latency"] * 1e3, 2)
        assert row["memory"] == round(baseline["values"]["memory"] * 1e-6, 1)
        # A layer of GPT-2 small has more decoder parameters than all of this space.
        assert row["latency_front"] is row["latency_times"] is row["memory_front"] is row["memory_times"] is None
        assert row["quickest"] is None


def test_a_baseline_that_the_front_reaches(savings: Any, designed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(designed)
    quickest, name = min(run.front, key=lambda m: m.values["latency"]), run.baselines[0]["name"]
    found: dict[str, Any] = {"name": name, "family": "F", "layers": 1, "proxy": 100.0}
    found |= {"latency": 0.3, "latency_front": 0.1, "latency_key": quickest.key}
    found |= {"memory": 9e6, "memory_front": 6e6, "memory_key": quickest.key}
    monkeypatch.setattr(savings, "comparison_rows", lambda data: [found])
    assert savings.rows_of(designed) == [
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
            "quickest": str(quickest.architecture),
            **dict.fromkeys([f"later_{c}{end}" for c in ("latency", "memory") for end in ("", "_front", "_times")]),
        }
    ]


def test_the_csv_of_runs(savings: Any, designed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    savings.main([str(designed), str(designed)])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 12
    assert rows[:6] == rows[6:]
    assert rows[0]["latency_front"] == ""


def test_the_runs_themselves(savings: Any, designed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    savings.main(["--runs", str(designed)])
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    events = [json.loads(line) for line in (designed / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    times = {event.get("stage", event["event"]): event["time"] for event in events}
    assert float(row["search_seconds"]) == pytest.approx(times["measure"] - times["search"], abs=0.06)
    run = open_run(designed)
    measured = [member for member in run.front if member.measured]
    off = [abs(m.details["predicted_latency"] / m.values["latency"] - 1) for m in measured]
    assert int(row["members"]) == len(off) > 0
    assert float(row["members_mean"]) == pytest.approx(sum(off) / len(off), abs=1e-4)
    assert float(row["members_max"]) == pytest.approx(max(off), abs=1e-4)
    assert int(row["unseen"]) == run.latency_model["report"]["held_out"]
    assert int(row["baselines"]) == len(run.baselines)


@pytest.mark.parametrize(
    ("family", "row"),
    [
        ("GPT-2 small with embedding 128", "GPT-2, decoders alone (same embedding)"),
        ("GPT-2 small", "GPT-2, against the published network"),
        ("LTS's GPT-2", "GPT-2, against LiteTransformerSearch's baseline"),
        ("Transformer-XL base with embedding 128", "Transformer-XL, decoders alone (same embedding)"),
        ("Transformer-XL base", "Transformer-XL, against the published network"),
        ("LTS's Transformer-XL", "Transformer-XL, against LiteTransformerSearch's baseline"),
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
