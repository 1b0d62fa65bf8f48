"""Formats of pruned and unpruned networks: the script on a toy run, and the table."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest

from secateur.export.scored import Form, Forms
from secateur.runs.prune import formats
from secateur.runs.prune.run import PruneRun

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "prune-methods"


def test_rows_of_a_finished_run(load_recipe: Any, pruned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, asked = load_recipe("prune-methods/quantised.py"), []
    pruned = shutil.copytree(pruned, tmp_path / "run")  # it is resumed

    def compared(run: PruneRun, progress: Any, most: int | None, *, anew: bool) -> list[str]:
        asked.append(most)
        return []

    known = {"unpruned": Forms((Form("torch", 100, 0.9, 2e-3, 110.0),), "accuracy")}
    best = PruneRun(pruned).front[0]
    known[best.key] = Forms((Form("int4", 10, 0.8, 1e-3, 11.0),), "accuracy", unpruned=3e-3)
    monkeypatch.setattr(formats, "compare_formats", compared)
    monkeypatch.setattr("secateur.runs.prune.report.formats_of", lambda run: known)
    first, second = recipe.measured("a model", tmp_path / "stsb", pruned)
    assert asked == [None], "all validation examples"
    assert (first["task"], first["key"], first["layers"], first["format"]) == ("stsb", "unpruned", 1.0, "PyTorch")
    share = best.values["body_parameters"] / best.run.unpruned["body_parameters"]
    assert (second["layers"], second["format"], second["speedup"]) == (share, "ONNX int4", pytest.approx(3.0))
    assert second["points"] == pytest.approx(-10.0)


def test_the_table_has_every_format_of_the_unpruned_network_and_of_pruned_ones(load_recipe: Any) -> None:
    with (FOLDER / "quantised.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for task in ("stsb", "mrpc"):
        own = [row for row in rows if row["task"] == task]
        assert "unpruned" in {row["key"] for row in own}
        assert len({row["key"] for row in own}) >= 3
        for key in {row["key"] for row in own}:
            forms = {row["format"]: row for row in own if row["key"] == key}
            assert set(forms) == {"PyTorch", "ONNX", "ONNX int8", "ONNX int4"}
            sizes = [float(forms[name]["memory"]) for name in ("ONNX", "ONNX int8", "ONNX int4")]
            assert sizes == sorted(sizes, reverse=True)
    assert load_recipe("prune-methods/quantised.py").tables() in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_what_the_text_says() -> None:
    """The figures of the bullets: against ONNX in float, and the smallest network in eight bits."""
    with (FOLDER / "quantised.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    forms = {(row["task"], row["key"], row["format"]): row for row in rows}

    def against(bits: str, name: str) -> list[float]:
        pairs = [(row, forms[task, key, "ONNX"]) for (task, key, form), row in forms.items() if form == f"ONNX {bits}"]
        return [float(row[name]) / float(plain[name]) for row, plain in pairs]

    def lost(bits: str) -> float:
        pairs = [(row, forms[task, key, "ONNX"]) for (task, key, form), row in forms.items() if form == f"ONNX {bits}"]
        return max(float(plain["score"]) - float(row["score"]) for row, plain in pairs)

    assert all(0.25 < share < 0.28 for share in against("int8", "memory"))
    assert all(0.39 < share < 0.555 for share in against("int8", "latency"))
    assert lost("int8") < 0.0053
    assert all(0.17 < share < 0.2 for share in against("int4", "memory"))
    assert all(0.9 < share < 1.3 for share in against("int4", "latency"))
    assert round(lost("int4"), 3) == 0.023
    smallest = min(
        (row for row in rows if row["task"] == "stsb" and row["format"] == "ONNX int8"), key=lambda r: float(r["layers"])
    )
    whole = forms["stsb", "unpruned", "PyTorch"]
    assert round(100 * float(smallest["layers"])) == 8
    assert f"{float(smallest['speedup']):.1f}" == "14.6"
    assert round(100 * float(smallest["bytes"]) / float(whole["bytes"])) == 15
    assert round(float(whole["score"]) - float(smallest["score"]), 3) == 0.043
