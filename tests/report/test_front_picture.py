from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateur.report import design_front_svg, front_svg
from secateur.report.front_picture import HEIGHT, WIDTH, ticks

SVG = "{http://www.w3.org/2000/svg}"


def test_picture_is_standalone_and_complete(tiny):
    svg = ElementTree.fromstring(front_svg(tiny))
    text = "".join(svg.itertext())
    for words in (
        "tiny",
        "parameters, share of the unpruned network",
        "accuracy (validation)",
        "unpruned",
        "front, polished",
        "40 %",
    ):
        assert words in text
    background = svg.find(f"{SVG}rect")
    assert (background.get("fill"), background.get("width")) == ("#ffffff", str(WIDTH))
    assert len([c for c in svg.iter(f"{SVG}circle") if c.get("r") == "4.5"]) == 3 + 1  # the front and its legend
    assert len(list(svg.iter(f"{SVG}polygon"))) == 2


def test_points_stay_inside(large_run):
    svg = ElementTree.fromstring(front_svg(large_run, x="latency"))
    for circle in svg.iter(f"{SVG}circle"):
        if circle.get("r") == "4.5":
            assert 0 <= float(circle.get("cx")) <= WIDTH
            assert 0 <= float(circle.get("cy")) <= HEIGHT


def test_polished_is_left_out_of_the_legend_where_there_is_none(tiny):
    assert "polished" not in front_svg(dataclasses.replace(tiny, front=tiny.front[1:]))


def test_a_line_is_drawn_only_where_the_front_is_a_curve(tiny):
    assert "<polyline" in front_svg(tiny)
    values = [{"error": 0.3, "parameters": 100}, {"error": 0.5, "parameters": 200}]
    odd = [{**entry, "values": v} for entry, v in zip(tiny.front, values, strict=False)]
    assert "<polyline" not in front_svg(dataclasses.replace(tiny, front=odd))


def test_absolute_where_the_unpruned_value_is_not_known(tiny):
    unpruned = {"values": {"error": 0.2}, "test": None}
    text = "".join(ElementTree.fromstring(front_svg(dataclasses.replace(tiny, unpruned=unpruned))).itertext())
    assert "share of the unpruned" not in text


def test_empty_front_and_names_are_safe(tiny):
    svg = front_svg(dataclasses.replace(tiny, title="<a & b>", front=[], trials=[]))
    assert "&lt;a &amp; b&gt;" in svg
    ElementTree.fromstring(svg)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_lie_inside_and_are_few(low, span):
    found = ticks(low, low + span)
    assert 1 <= len(found) <= 8
    assert all(low - span * 1e-6 <= t <= low + span * (1 + 1e-6) for t in found)


def test_ticks_of_a_point():
    assert ticks(2.0, 2.0) == [2.0]
    assert ticks(0, 1.04) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])


def test_a_design_front_stands_beside_its_baselines(tiny_design):
    svg = ElementTree.fromstring(design_front_svg(tiny_design))
    text = "".join(svg.itertext())
    for words in ("tiny design", "latency", "decoder parameters", "GPT-2 small, layer-scaled", "less latency and more decoder"):
        assert words in text
    assert len([c for c in svg.iter(f"{SVG}circle") if c.get("r") == "4.5"]) == 4 + 1
    assert len([p for p in svg.iter(f"{SVG}path") if "h8v8" in p.get("d")]) == 3 + 1
    front, baseline = svg.iter(f"{SVG}polyline")
    assert len(front.get("points").split()) == 2  # a and d: the others are beaten by these two quantities
    assert len(baseline.get("points").split()) == 3


def test_a_design_front_of_other_quantities(tiny_design):
    svg = ElementTree.fromstring(design_front_svg(dataclasses.replace(tiny_design, baselines=[]), x="memory", y="latency"))
    text = "".join(svg.itertext())
    assert "less memory and less latency" in text
    assert "layer-scaled" not in text
    assert "30\N{NO-BREAK SPACE}ms" in text
