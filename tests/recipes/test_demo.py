"""The demo's gains in the README and in the recipe are those of its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def test_the_pages_show_the_measured_gains(load_recipe: Any) -> None:
    gain = load_recipe("demo/gain.py")
    for page in ("README.md", "recipes/demo/README.md"):
        assert gain.table() in (ROOT / page).read_text(encoding="utf-8")
    (said,) = {row["about"] for row in gain.rows() if row["about"]}
    assert said.rpartition(":")[0] in (ROOT / "README.md").read_text(encoding="utf-8")
