from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateur.report.picture import BINS, decoder_picture, describe, describe_decoder, kept, pruned_picture, scale, unit_bins

SHAPE = {"layers": 3, "heads": 4, "units": 8}
CHOICES = {"backbone": "gpt2", "width": 128, "heads": (2, 4), "inner": (256, 512), "embedding": 64, "factor": 4}
LARGEST = {"layers": 4, "width": 256, "inner": 1024}
PLAN = {"layers": [{"index": 0, "heads": 3, "units": 4}, {"index": 2, "heads": [1, 3], "units": [0, 1, 7]}]}


def cells(svg: ElementTree.Element, colour: str) -> int:
    return sum(path.get("d").count("M") for path in svg.iter("path") if colour in path.get("style"))


def test_kept_places_of_a_prefix_and_of_a_set():
    assert (kept(2, 4), kept([3, 1], 4)) == ([0, 1], [1, 3])


def test_descriptions():
    assert describe(PLAN, SHAPE) == "2 of 3 layers, 5 of 12 heads, 7 of 24 units"
    assert describe_decoder(CHOICES) == "2 layers × 128, inner 256–512, heads 2–4, embedding 64 (k = 4)"
    one = {**CHOICES, "heads": (2,), "inner": (256,), "embedding": 0, "factor": 1}
    assert describe_decoder(one) == "1 layer × 128, inner 256, heads 2, plain embedding"


@pytest.mark.parametrize("compact", [False, True])
def test_every_head_is_a_cell(compact):
    svg = ElementTree.fromstring(pruned_picture(PLAN, SHAPE, compact))
    assert cells(svg, "--kept") == 5
    # Missing heads of layers that are kept, and the dropped layer, greyed; each of the three has a bar for its units.
    assert (cells(svg, "--track"), cells(svg, "--gone")) == (1 + 2 + 2, 4 + 1)
    assert svg.get("role") == "img"
    assert svg.findtext("title") == describe(PLAN, SHAPE) == svg.get("aria-label")


def test_full_picture_says_the_counts():
    text = "".join(ElementTree.fromstring(pruned_picture(PLAN, SHAPE)).itertext())
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
    svg = ElementTree.fromstring(pruned_picture({"layers": [{"index": 0, "heads": 1, "units": [0, 1, 2, 95]}]}, shape))
    shades = {path.get("style"): path.get("d").count("M") for path in svg.iter("path") if "--units" in path.get("style")}
    # Bins of two units: the first is full, the second and the last are half full.
    assert sorted(shades.values()) == [1, 2]
    assert [count for style, count in shades.items() if "opacity:0.55" in style] == [2]


def test_an_empty_plan_and_a_deep_network_are_drawn():
    deep = {"layers": 48, "heads": 64, "units": 16384}
    svg = ElementTree.fromstring(pruned_picture({"layers": []}, deep, compact=True))
    assert cells(svg, "--gone") == 48 * (64 + 1)
    assert float(svg.get("height")) <= 100


def ends(svg: ElementTree.Element, colour: str) -> list[float]:
    """How wide each row's boxes of this colour are, from the first's left to the last's right."""
    found = []
    for path in svg.iter("path"):
        if colour in path.get("style"):
            boxes = re.findall(r"M([\d.]+) [\d.]+h([\d.]+)", path.get("d"))
            found.append(float(boxes[-1][0]) + float(boxes[-1][1]) - float(boxes[0][0]))
    return found


@pytest.mark.parametrize(("compact", "attention", "units"), [(False, 156, 190), (True, 56, 68)])
def test_a_decoders_bars_are_as_long_as_its_layers_are_wide(compact, attention, units):
    svg = ElementTree.fromstring(decoder_picture(CHOICES, LARGEST, compact))
    assert cells(svg, "--kept") == 2 + 4
    assert ends(svg, "--kept") == pytest.approx([attention / 2] * 2, rel=0.03)  # but for the room between heads
    assert ends(svg, "--units") == pytest.approx([units / 4, units / 2], abs=0.01)
    assert svg.findtext("title") == describe_decoder(CHOICES) == svg.get("aria-label")


def test_a_decoders_full_picture_says_the_numbers():
    text = "".join(ElementTree.fromstring(decoder_picture(CHOICES, LARGEST)).itertext())
    for words in ("attention, 128 wide", "4 heads", "512", "layer 1: 4 heads, 512 units"):
        assert words in text


def test_scale_is_the_largest_of_all():
    deep = {**CHOICES, "heads": [8] * 5, "inner": [300] * 5, "width": 64}
    assert scale([CHOICES, deep]) == {"layers": 5, "width": 128, "inner": 512}
    assert scale([]) == {"layers": 1, "width": 1, "inner": 1}
