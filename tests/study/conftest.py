"""A store in a fresh folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from secateur.study.sql_store import SqlStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.create(tmp_path / "study.db", {"seed": 0}) as made:
        yield made
