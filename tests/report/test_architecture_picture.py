from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateur.report.architecture_picture import BINS, describe, picture, unit_bins

SHAPE = {"layers": 3, "heads": 4, "units": 8}
PLAN = {"layers": [{"index": 0, "heads": 3, "units": 4}, {"index": 2, "heads": [1, 3], "units": [0, 1, 7]}]}


def cells(svg: ElementTree.Element, colour: str) -> int:
    return sum(path.get("d").count("M") for path in svg.iter("path") if colour in path.get("style"))


def test_description_counts_what_is_kept():
    assert describe(PLAN, SHAPE) == "2 of 3 layers, 5 of 12 heads, 7 of 24 units"


@pytest.mark.parametrize("compact", [False, True])
def test_every_head_is_a_cell(compact):
    svg = ElementTree.fromstring(picture(PLAN, SHAPE, compact))
    assert cells(svg, "--kept") == 5
    assert cells(svg, "--track") == 1 + 2  # missing heads of layers that are kept
    assert cells(svg, "--gone") == 4  # the dropped layer, greyed
    assert svg.get("role") == "img"
    assert svg.findtext("title") == describe(PLAN, SHAPE) == svg.get("aria-label")


def test_full_picture_says_the_counts():
    text = "".join(ElementTree.fromstring(picture(PLAN, SHAPE)).itertext())
    for words in ("3/4", "4/8", "2/4", "3/8", "gone", "layer 2: 2 heads, 3 units"):
        assert words in text


def test_a_prefix_of_units_is_one_bar():
    assert unit_bins(4, 8) == [(0.0, 0.5, 1.0)]
    assert unit_bins(0, 8) == []


def test_a_set_of_units_is_binned():
    assert unit_bins([0, 1, 7], 8) == [(0.0, 0.125, 1.0), (0.125, 0.25, 1.0), (0.875, 1.0, 1.0)]


@given(st.integers(1, 4000).flatmap(lambda full: st.tuples(st.just(full), st.sets(st.integers(0, full - 1)))))
def test_bins_hold_every_unit_once(case):
    full, chosen = case
    bins = unit_bins(sorted(chosen), full)
    assert len(bins) <= BINS
    assert sum((high - low) * share for low, high, share in bins) * full == pytest.approx(len(chosen))


def test_a_set_of_units_is_drawn_in_shades():
    shape = {"layers": 1, "heads": 1, "units": 96}
    svg = ElementTree.fromstring(picture({"layers": [{"index": 0, "heads": 1, "units": [0, 1, 2, 95]}]}, shape))
    shades = {path.get("style"): path.get("d").count("M") for path in svg.iter("path") if "--units" in path.get("style")}
    # Bins of two units: the first is full, the second and the last are half full.
    assert sorted(shades.values()) == [1, 2]
    assert [count for style, count in shades.items() if "opacity:0.55" in style] == [2]


def test_an_empty_plan_and_a_deep_network_are_drawn():
    deep = {"layers": 48, "heads": 64, "units": 16384}
    svg = ElementTree.fromstring(picture({"layers": []}, deep, compact=True))
    assert cells(svg, "--gone") == 48 * 64
    assert float(svg.get("height")) <= 100
