"""What the tests of tasks share: a toy tokenizer, small tables, and where the real data are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from secateur.testing.toy_tokenizer import toy_tokenizer

WORDS = "the a film was good bad long short very and not one two three four five six"


@pytest.fixture(scope="session")
def tokenizer():
    return toy_tokenizer([WORDS])


@pytest.fixture
def shared() -> Path:
    """The folder of real data; tests that need it are skipped where there is none."""
    root = os.environ.get("SECATEUR_SHARED")
    folder = Path(root) / "data" if root else Path(__file__).parents[2] / ".." / "shared" / "data"
    if not (folder / "glue").is_dir():
        pytest.skip("the real data are not at hand")
    return folder


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A CSV of 40 rows: `review`, `stars` (30 of `bad`, 10 of `good`), and a number that is neither."""
    lines = ["id,review,stars"]
    lines += [f'{i},"the film, was {"very " * (i % 5)}long",{"good" if i % 4 == 0 else "bad"}' for i in range(40)]
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
