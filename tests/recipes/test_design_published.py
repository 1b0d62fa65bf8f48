"""The published tables: the recipe's text shows what was measured, and measuring again gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT.parent / "shared/data/lts/gpt2_tables.json.gz"


@pytest.fixture(scope="module")
def published(load_recipe: Any) -> Any:
    return load_recipe("design/published.py")


@pytest.fixture(scope="module")
def tables(published: Any) -> Any:
    if not TABLES.is_file():
        pytest.skip("the published tables are not at hand")
    return published.read(TABLES)


def test_the_text_shows_what_was_measured(published: Any) -> None:
    text = (ROOT / "recipes/design/published.md").read_text(encoding="utf-8")
    for table in published.everything().split("\n\n"):
        assert table in text


def test_other_pages_quote_what_was_measured(published: Any) -> None:
    def spearman(table: str, share: float) -> float:
        rows = published.figures().values()
        keys = (table, "spearman", "decoder_parameters", share)
        return next(float(r["value"]) for r in rows if (r["table"], r["measure"], r["proxy"], float(r["share"] or 0)) == keys)

    first, second, best = (spearman(f"random_GPT2_{t}", s) for t, s in (("wt103", 1.0), ("lm1b", 1.0), ("wt103", 0.2)))
    readme, guide = (
        " ".join((ROOT / page).read_text(encoding="utf-8").split()) for page in ("README.md", "docs/how-to/design.md")
    )
    assert f"ranks 200 trained GPT-2s with Spearman {first:.3f} and {second:.3f}" in readme
    assert f"as training does, with Spearman {first:.2f}" in guide
    assert f"{best:.2f} within the best fifth on WikiText-103" in guide


@pytest.mark.parametrize(
    ("table", "proxy", "value"),
    [
        ("random_GPT2_wt103", "decoder_parameters", 0.967),
        ("random_GPT2_wt103", "parameters", 0.737),
        ("random_GPT2_lm1b", "decoder_parameters", 0.984),
    ],
)
def test_the_paper_is_met(published: Any, table: str, proxy: str, value: float) -> None:
    assert float(published.figures()[table, "spearman", proxy, "1"]["value"]) == pytest.approx(value, abs=5e-4)


def test_measuring_again_gives_the_same(published: Any, tables: Any, tmp_path: Path) -> None:
    published.write(published.measure(tables), tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == published.MEASURED.read_text()


def test_decoder_parameters_are_the_published_ones(published: Any, tables: Any) -> None:
    for name, rows in tables.items():
        ours = published.counts(rows)["decoder_parameters"]
        theirs = np.array([row["p_nonembedding"] for row in rows])
        if name == "random_GPT2_lm1b":
            # Transformer-XL's formula: 5d² + 2d instead of 4d² + 4d of attention, and no final norm.
            width, layers = (np.array([row[key] for row in rows]) for key in ("d_model", "n_layer"))
            assert (theirs == ours + layers * (width**2 - 2 * width) - 2 * width).all()
        else:
            assert (theirs == ours).all()


def test_rows_made_up_for_the_test_are_counted_and_ranked(published: Any, tmp_path: Path) -> None:
    rows = [
        {
            "d_model": 8 * n,
            "n_head": [2] * n,
            "d_inner": [16 * n] * n,
            "d_embed": -1 if n % 2 else 16,
            "div_val": 1,
            "p_nonembedding": 0,
            "p_total": 100,
            "valid_ppl": 100 / n,
            "latency_ms": float(n),
            "memory_mb": float(n),
        }
        for n in range(1, 7)
    ]
    found = list(published.measure(dict.fromkeys((*published.RANDOM, *published.DEVICES), rows)))
    whole = [r for r in found if r["measure"] == "spearman" and r.get("share") == 1.0]
    assert [r["value"] for r in whole] == [pytest.approx(1.0)] * 4
    assert {r["value"] for r in found if r["measure"] in ("front_found", "front_hypervolume")} == {1.0}
    published.write(iter(found), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().count("\n") == len(found) + 1
