"""The pictures of the documentation are what the measurements say, with every word of their legends within them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from secateur.runs.folder import open_run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pictures(load_recipe: Any) -> Any:
    return load_recipe("pictures.py")


def legend(picture: str) -> list[tuple[float, float, str]]:
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" fill="#5b6675" text-anchor="start" >([^<]*)<', picture)
    return [(float(x), float(y), words) for x, y, words in found]


def test_the_picture_of_a_design_is_that_of_the_table(pictures: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pictures.main("design")
    picture = capsys.readouterr().out
    assert picture == (ROOT / "docs" / "images" / "design.svg").read_text(encoding="utf-8")
    names = [words for _, _, words in legend(picture)]
    assert [name for name in names if "layer-scaled" in name] == [
        "GPT-2 small with embedding 128, layer-scaled",
        "GPT-2 small as published, layer-scaled",
    ]
    for x, y, words in legend(picture):
        assert x + pictures.LETTER * len(words) <= pictures.WIDTH
        assert y < pictures.TOP
    for marker, colour in (("diamond", pictures.VIOLET), ("square", pictures.ORANGE)):  # 16 points and one in the legend
        assert len(re.findall(rf'd="{re.escape(pictures.MARKERS[marker])}" [^>]*fill="{colour}"', picture)) == 17


@pytest.mark.slow
def test_the_picture_of_a_front_has_chance_and_leaves_out_what_is_no_better(pictures: Any, pruned: Path) -> None:
    picture = pictures.front(pruned)
    run = open_run(pruned)
    assert ">chance<" in picture
    assert len(re.findall(pictures.MARKERS["star"], picture)) == 2
    good = [m for m in run.front if m.above_chance and m.weights == "polished"]
    assert len(re.findall(pictures.MARKERS["diamond"], picture)) == len(good) + 1


def test_ticks_are_round(pictures: Any) -> None:
    assert pictures.Axis("", 0, 120).ticks() == [0, 20, 40, 60, 80, 100, 120]
    assert pictures.Axis("", 0.47, 0.73).ticks() == [0.5, 0.55, 0.6, 0.65, 0.7]
