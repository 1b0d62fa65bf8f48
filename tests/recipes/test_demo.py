"""The demo's gains in the README and in the recipe are those of its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from secateur.export.scored import Form, Forms
from secateur.runs.prune.run import PruneRun

ROOT = Path(__file__).resolve().parents[2]


def test_the_pages_show_the_measured_gains(load_recipe: Any) -> None:
    gain = load_recipe("demo/gain.py")
    for page in ("README.md", "recipes/demo/README.md"):
        assert gain.table() in (ROOT / page).read_text(encoding="utf-8")
    (said,) = {row["about"] for row in gain.rows() if row["about"]}
    for page in ("README.md", "docs/front.md", "docs/run.md"):
        assert said.rpartition(":")[0] in (ROOT / page).read_text(encoding="utf-8")
    pruned = [row for row in gain.rows() if row["network"] == "pruned"]
    names = {"PyTorch": "torch", "ONNX": "onnx", "ONNX int8": "int8"}
    forms = [
        Form(names[r["format"]], int(r["bytes"]), float(r["score"]), float(r["latency"]))
        for r in pruned
        if r["format"] in names
    ]
    assert " · ".join(map(str, forms)) in (ROOT / "docs/how-to/export.md").read_text(encoding="utf-8")
    recipe = " ".join((ROOT / "recipes/demo/README.md").read_text(encoding="utf-8").split())
    again = float(pruned[0]["speedup"])
    assert f"a speed-up of {said.split()[0]} × in PyTorch, and when it compared formats {again:.1f} ×" in recipe


def test_the_table_is_made_of_the_formats_of_a_run(load_recipe: Any, pruned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gain, best = load_recipe("demo/gain.py"), PruneRun(pruned).front[-1]
    times = {best.key: 1e-3, "unpruned": 2e-3}
    known = {key: Forms((Form("torch", 100, 0.9, time, 110.0),), "accuracy", unpruned=2e-3) for key, time in times.items()}
    monkeypatch.setattr("secateur.runs.prune.report.formats_of", lambda run: known)
    monkeypatch.setattr(PruneRun, "headline", best)
    found = {row["network"]: row for row in gain.measured(pruned)}
    assert (found["unpruned"]["speedup"], found["unpruned"]["about"]) == (1.0, "")
    assert (found["pruned"]["speedup"], found["pruned"]["latency"], found["pruned"]["format"]) == (2.0, 1e-3, "PyTorch")
    assert found["pruned"]["about"].endswith(best.key[:8])
