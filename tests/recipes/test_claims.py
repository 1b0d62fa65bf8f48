"""The page of claims says what the tables say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_the_one_that_the_tables_give(load_recipe: Any) -> None:
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert load_recipe("claims.py").everything() == page, "python recipes/claims.py > docs/claims.md"


def test_every_claim_has_a_verdict_and_a_script_that_is_there() -> None:
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    claims = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")]
    claims = [claim for claim in claims if claim[0] != "claim"]
    assert len(claims) >= 20
    verdicts = ("reproduced", "partly", "refuted", "open", "out of reach", "not comparable")
    for claim in claims:
        assert len(claim) == 4, claim
        assert claim[1].startswith(verdicts), claim[1]
        scripts = [name.strip() for name in claim[3].split(",")]
        folder = Path(scripts[0]).parent
        for script in scripts:
            if script.endswith(".py"):
                assert (ROOT / script).is_file() or (ROOT / folder / script).is_file(), script
