"""The topology experiment: shapes that meet their budgets, and the analysis of what was trained and measured."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from secateur.architecture import Architecture
from secateur.decoders import Builder, Sizes
from secateur.devices.inputs import dummy_inputs
from secateur.devices.memory import peak_memory
from secateur.spaces.decoder_counts import decoder_parameters
from secateur.tables import read_trained

pytestmark = pytest.mark.slow

RECIPES = Path(__file__).resolve().parents[2] / "recipes"


@pytest.fixture(scope="module")
def topology(load_recipe: Any) -> Any:
    return load_recipe("design/topology.py")


def test_shapes_to_train_meet_their_budgets(topology: Any) -> None:
    rows = list(topology.to_train())
    assert {row["source"] for row in rows} == {"topology"}
    for budget in topology.SMALL:
        mine = [row for row in rows if row["budget"] == budget]
        assert len(mine) >= 5
        depths = [row["layers"] for row in mine]
        assert depths == sorted(set(depths), reverse=True)
        assert depths[0] >= 11 * depths[-1]
        for row in mine:
            found = Architecture.from_json(row["architecture"])
            assert found["inner"] == (2 * row["width"],) * row["layers"]
            assert found["heads"] == (8,) * row["layers"]
            assert row["decoder_parameters"] == decoder_parameters(found)
            assert abs(row["decoder_parameters"] / budget - 1) <= topology.SMALL_TOLERANCE
            assert row["deviation"] == pytest.approx(row["decoder_parameters"] / budget - 1, abs=1e-4)


def test_large_shapes_span_the_papers(topology: Any) -> None:
    for budget in topology.LARGE:
        found = topology.shapes(budget, topology.LARGE_TOLERANCE)
        assert len(found) == 6
        assert found[0].layers >= 20 * found[-1].layers
        assert all(abs(shape.deviation) <= 0.01 for shape in found)
    widest = topology.shapes(25_000_000, 0.01)[-1]
    assert (widest.layers, widest.width) == (2, 1248)


def test_the_analysis(topology: Any, tmp_path: Path, monkeypatch: Any) -> None:
    lines = [{**row, "perplexity": 100.0 + i} for i, row in enumerate(topology.to_train())]
    lines.append({**lines[0], "source": "random", "perplexity": 5.0})
    table = tmp_path / "trained.jsonl"
    table.write_text("\n".join(map(json.dumps, lines)))
    measured = [
        {"budget": 5_000_000, "width": w, "layers": n, "deviation": 0.001, "latency": t, "memory": m}
        for w, n, t, m in ((112, 49, 0.3, 60e6), (560, 2, 0.1, 240e6))
    ]
    monkeypatch.setattr(topology, "MEASURED", tmp_path / "topology.csv")
    topology.write(measured, tmp_path / "topology.csv")
    monkeypatch.setattr(topology, "measured", lambda path=tmp_path / "topology.csv", real=topology.measured: real(path))
    text = topology.everything(table)
    # The first budget has six networks of 100 … 105: the median is 102.5.
    assert "| largest deviation of perplexity from the median | < 12.8 % | 2.4% (200,000)" in text
    assert "| latency, highest over lowest | 2.8 × | 3.0 × (5,000,000) |" in text
    assert "| memory, highest over lowest | 5.5 × | 4.0 × (5,000,000) |" in text
    assert "| 5,000,000 (+0.1%) | 560 × 2 | 100 ms | 240 MB |" in text
    assert "| 196,576 (-1.7% of 200,000) | 32 × 23 | 100.00 | -2.4% |" in text
    assert "| 5.00 |" not in text


def test_what_is_kept_is_what_a_pass_needs_today(topology: Any) -> None:
    builder = Builder(Sizes(vocabulary=topology.VOCABULARY, positions=topology.POSITIONS))
    rows = topology.measured()
    for row in (rows[0], rows[-1]):
        network = builder.meta(topology.Shape(*(int(row[name]) for name in ("budget", "width", "layers"))).architecture)
        inputs = dummy_inputs(network, 1, topology.LENGTH, "language_modelling")
        assert int(row["memory"]) == peak_memory(network, inputs).peak


def test_the_text_on_both_ends(topology: Any) -> None:
    by_budget: dict[str, list[float]] = {}
    for row in topology.measured():  # the deepest first
        by_budget.setdefault(row["budget"], []).append(float(row["latency"]))
    *small, large = by_budget.values()
    assert all(min(found[0], found[-1]) > 1.1 * min(found) for found in small), "both ends of the small ones are slow"
    assert large[0] < 1.02 * min(large), "as fast as any"
    assert large[-1] == max(large)


def test_measuring_small(topology: Any) -> None:
    row = next(topology.measure((67_000,), vocabulary=50, seconds=0.05, most=2))
    assert (row["width"], row["layers"]) == (64, 2)
    assert row["latency"] > 0
    assert row["memory"] > 4 * 67_000


def test_the_text_shows_what_was_measured(topology: Any) -> None:
    text = (RECIPES / "design/README.md").read_text(encoding="utf-8")
    for table in topology.everything(RECIPES / "design/benchmark.parquet").split("\n\n"):
        assert table in text
    found = topology.deviations(read_trained(RECIPES / "design/benchmark.parquet").only("topology").averaged())
    (deep, worst, _), *_, (shallow, best, _) = found[200_000]
    assert [(a["width"], len(a["heads"])) for a in (deep, shallow)] == [(32, 23), (112, 2)]
    guide = " ".join((RECIPES.parent / "docs/how-to/design.md").read_text(encoding="utf-8").split())
    assert f"two layers of width 112 reach a perplexity of {best:.0f}, and 23 layers of width 32 one of {worst:.0f}" in guide
    most = max(abs(off) for *_, off in found[1_800_000])
    assert f"all shapes are within {math.ceil(100 * most)} % of the median" in guide
