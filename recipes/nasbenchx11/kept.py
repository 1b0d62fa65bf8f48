"""The tables of results beside this file."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import filled, markdown, mean_ranks, replace_rows, rows_of  # noqa: E402

__all__ = ["HERE", "filled", "markdown", "mean_ranks", "replace_rows", "rows_of"]
#: Our trained decoders, tables of the package: larger ones, and many tiny ones, 40 of them with five seeds.
TABLE, TINY = "curves-wikitext2", "curves-shakespeare"
