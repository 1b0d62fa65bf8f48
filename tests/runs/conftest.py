"""Runs measure for a moment only."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def _brief(brief: None) -> None:
    """Latencies of toys need no seconds."""
