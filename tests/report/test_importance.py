from __future__ import annotations

import dataclasses

import pytest

from secateur.report.importance import POINTS, head_scores, kept, kept_layers, unit_curves


def test_kept_places_of_a_prefix_and_of_a_set():
    assert kept(2, 4) == [0, 1]
    assert kept([3, 1], 4) == [1, 3]


def test_kept_layers_name_original_heads(tiny):
    plan = {"layers": [{"index": 0, "heads": 1, "units": [0, 3]}]}
    assert kept_layers(tiny, plan) == [
        {"layer": 0, "kept": True, "heads": 1, "original_heads": [1], "units": 2},
        {"layer": 1, "kept": False, "heads": 0, "original_heads": [], "units": 0},
    ]
    unordered = dataclasses.replace(tiny, importance=None)
    assert kept_layers(unordered, plan)[0]["original_heads"] == [0]


def test_head_scores_carry_their_place(tiny):
    assert head_scores(tiny)[0] == [{"head": 0, "score": 1.0, "place": 1}, {"head": 1, "score": 3.0, "place": 0}]


def test_unit_curves_are_cumulative_in_order(tiny):
    first, second = unit_curves(tiny)
    assert [p["units"] for p in first] == [0, 1, 2, 3, 4]
    assert [p["importance"] for p in first] == pytest.approx([0, 0.5, 0.7, 0.9, 1.0])
    assert [p["importance"] for p in second] == [0, 0, 0, 0, 0]


def test_unit_curves_stay_small(large_run):
    for curve in unit_curves(large_run):
        assert len(curve) == POINTS + 1
        assert curve[-1]["importance"] == pytest.approx(1)


def test_nothing_without_importance(tiny):
    bare = dataclasses.replace(tiny, importance=None)
    assert head_scores(bare) == []
    assert unit_curves(bare) == []
