"""Figures of benches: where lines stand, without a browser."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.report.bench_page import courses_figure
from secateur.report.significance_page import Cell, critical_difference_figure, significance_figure


def named(figure, name):
    return next(trace for trace in figure["data"] if trace.get("name") == name)


def test_a_regret_of_nothing_stands_at_the_bottom() -> None:
    """Half of the least that a line has above 0: a logarithm has no place for it."""
    series = {"a": ([1, 2], [0.5, 0.0], [0.4, 0.0], [0.6, 0.1]), "b": ([1, 2], [0.3, 0.2], [0.3, 0.001], [0.3, 0.2])}
    drawn = courses_figure(series, "queries", "regret", log=True)
    assert named(drawn, "a")["y"] == [0.5, 0.1]
    assert drawn["data"][2]["y"] == [0.3, 0.2, 0.1, 0.3]  # the band of b: up, and back


def test_what_is_late_has_the_room() -> None:
    at = np.arange(1, 101)
    late = courses_figure({"a": (at, np.minimum(at, 20), at * 0 + 12, at * 0 + 25)}, "queries", "score", late=True)
    assert late["layout"]["yaxis"]["range"] == pytest.approx([10 - 0.75, 25 + 0.75])
    flat = courses_figure({"a": (at, at * 0, at * 0, at * 0)}, "queries", "score", late=True)
    assert flat["layout"]["yaxis"].get("range") is None


def test_what_is_not_known_is_not_drawn() -> None:
    drawn = courses_figure({"a": ([1, 2, 3], [np.nan, 2.0, 3.0], [np.nan, 1.0, 2.0], [np.nan, 3.0, 4.0])}, "seconds", "score")
    assert named(drawn, "a")["x"] == [2.0, 3.0]


def test_critical_difference() -> None:
    """A line per searcher from its rank on the axis to its own row, a bar per group, and the distance from 1 on."""
    ranks = {"b": 1.25, "a": 2.0, "c": 2.75}
    drawn = critical_difference_figure(ranks, 0.9, [["b", "a"], ["a", "c"]], ["a", "b", "c"])
    lines = [trace for trace in drawn["data"] if trace["mode"] == "lines+markers"]
    assert [trace["x"][:2] for trace in lines] == [[1.25, 1.25], [2.0, 2.0], [2.75, 2.75]]
    assert [trace["y"][0] for trace in lines] == [0, 0, 0]
    axis = drawn["layout"]["yaxis"]
    assert [trace["y"][1] for trace in lines] == axis["tickvals"]
    assert [text.split() for text in axis["ticktext"]] == [["b", "1.25"], ["a", "2.00"], ["c", "2.75"]]
    bars = [trace for trace in drawn["data"] if trace["line"]["width"] == 5]
    assert [trace["x"] for trace in bars] == [pytest.approx([1.22, 2.03]), pytest.approx([1.97, 2.78])]
    (distance,) = [trace for trace in drawn["data"] if trace["line"]["width"] == 3]
    assert distance["x"] == pytest.approx([1, 1.9])


def test_the_matrix_says_who_is_better() -> None:
    cells = {("a", "b"): Cell(0.0004, True, "a − b"), ("b", "a"): Cell(0.0004, False, "b − a"), ("a", "c"): Cell(0.2, True, "")}
    (drawn,) = significance_figure(["a", "b", "c"], cells)["data"]
    assert drawn["z"] == [[None, 1.0, 0.0], [-1.0, None, None], [None, None, None]]
    assert drawn["text"][0] == ["", "<.001", ".200"]
