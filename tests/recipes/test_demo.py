"""The demo's gains in the README and in the recipe are those of its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from secateur.export.scored import Form

ROOT = Path(__file__).resolve().parents[2]


def test_the_pages_show_the_measured_gains(load_recipe: Any) -> None:
    gain = load_recipe("demo/gain.py")
    for page in ("README.md", "recipes/demo/README.md"):
        assert gain.table() in (ROOT / page).read_text(encoding="utf-8")
    (said,) = {row["about"] for row in gain.rows() if row["about"]}
    for page in ("README.md", "docs/front.md", "docs/run.md"):
        assert said.rpartition(":")[0] in (ROOT / page).read_text(encoding="utf-8")
    pruned = [row for row in gain.rows() if row["network"] == "pruned"]
    forms = [Form(r["form"], int(r["bytes"]), float(r["score"]), float(r["latency"])) for r in pruned]
    assert " · ".join(map(str, forms)) in (ROOT / "docs/how-to/export.md").read_text(encoding="utf-8")
    recipe = " ".join((ROOT / "recipes/demo/README.md").read_text(encoding="utf-8").split())
    whole = next(row for row in gain.rows() if row["network"] == "unpruned")
    again = float(whole["latency"]) / float(pruned[0]["latency"])
    assert f"speed-up of {said.split()[0]} × in PyTorch, and the table, made later and in one go, {again:.1f} ×" in recipe
