from __future__ import annotations

import dataclasses
import json
import sys

import pytest

from secateur.errors import MissingExtraError
from secateur.report import figures, tables


def roles(figure):
    return {trace["meta"]["role"]: trace for trace in figure["data"]}


def test_pareto_has_a_trace_per_role(tiny):
    traces = roles(figures.pareto_figure(tiny))
    assert list(traces) == ["trial", "front", "polished", "unpruned"]
    assert (traces["front"]["x"], traces["front"]["y"]) == ([100, 200, 400], [0.6, 0.5, 0.3])
    assert traces["front"]["mode"] == "lines+markers"
    assert (traces["polished"]["x"], traces["polished"]["y"]) == ([400], [0.25])
    assert (traces["unpruned"]["x"], traces["unpruned"]["y"]) == ([1000], [0.2])
    assert traces["trial"]["customdata"] == ["d"]  # complete, and not on the front


def test_pareto_hover_shows_the_architecture_escaped(tiny):
    nasty = dataclasses.replace(tiny, front=[{**tiny.front[0], "architecture": "<img src=x onerror=alert(1)>"}])
    hover = roles(figures.pareto_figure(nasty))["front"]["hovertext"][0]
    assert "&lt;img src=x" in hover
    assert "40.0" in hover


def test_pareto_of_three_objectives_offers_axes_and_draws_no_line(three_objectives):
    figure = figures.pareto_figure(three_objectives)
    assert roles(figure)["front"]["mode"] == "markers"
    meta = figure["layout"]["meta"]
    assert (meta["x"], meta["y"]) == ("latency", "error")
    assert list(meta["axes"])[:3] == ["error", "latency", "memory"]
    columns = roles(figure)["front"]["meta"]["columns"]
    assert len(columns["memory"]) == len(three_objectives.front)


def test_axes_without_an_error(tiny):
    assert figures.default_axes(dataclasses.replace(tiny, objectives=["latency<=20ms", "memory"])) == ("latency", "memory")
    assert figures.default_axes(dataclasses.replace(tiny, objectives=["error"])) == ("parameters", "error")
    assert figures.default_axes(dataclasses.replace(tiny, objectives=["memory"])) == ("memory", "memory")


def test_hypervolume_draws_the_table(tiny):
    trace = figures.hypervolume_figure(tiny)["data"][0]
    assert trace["y"] == [row["hypervolume"] for row in tables.hypervolume_rows(tiny)]
    assert figures.hypervolume_figure(dataclasses.replace(tiny, trials=[])) is None


def test_curves_leave_gaps_where_the_loss_is_no_number(tiny):
    assert figures.curve_figures(tiny)["train"]["data"][0]["y"] == [0.9, None, 0.4]


def test_curves_take_losses_and_errors_and_are_bounded(tiny):
    rows = [{"step": 1, "loss": 1.0, "learning_rate": 0.1, "eval_error": 0.3}, {"step": 2, "loss": 0.5, "learning_rate": 0.1}]
    many = dataclasses.replace(tiny, curves={f"run {i}": rows for i in range(20)} | {"empty": []})
    drawn = figures.curve_figures(many)
    assert len(drawn) == figures.MOST_CURVES
    assert [(t["name"], t["x"]) for t in drawn["run 0"]["data"]] == [("loss", [1, 2]), ("eval error", [1])]


def test_importance_maps(tiny):
    assert figures.heads_figure(tiny)["data"][0]["z"] == [[1.0, 3.0], [2.0, 0.0]]
    assert "place 1 of 2" in figures.heads_figure(tiny)["data"][0]["text"][0][1]
    assert len(figures.units_figure(tiny)["data"]) == 2
    bare = dataclasses.replace(tiny, importance=None)
    assert figures.heads_figure(bare) is None
    assert figures.units_figure(bare) is None


def test_figures_are_plain_json_without_a_template(large_run):
    for figure in (figures.pareto_figure(large_run), figures.heads_figure(large_run), figures.units_figure(large_run)):
        json.dumps(figure, allow_nan=False)
        assert "template" not in figure["layout"]


def test_without_plotly_the_extra_is_named(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingExtraError, match=r"secateur\[report\]"):
        figures.pareto_figure(tiny)
