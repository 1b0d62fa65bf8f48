from __future__ import annotations

import dataclasses
import json

from secateur.report import design_figures


def by_name(figure):
    return {trace["name"]: trace for trace in figure["data"] if trace.get("name")}


def test_a_slice_has_candidates_front_line_and_baselines(tiny_design):
    figure = design_figures.slice_figures(tiny_design)["latency,decoder_parameters"]
    traces = by_name(figure)
    assert list(traces) == ["candidates", "front, measured", "front, predicted", "GPT-2 small, 1…9 layers"]
    assert traces["candidates"]["customdata"] == ["e"]  # complete, and not on the front
    assert traces["front, measured"]["customdata"] == ["c", "a", "b"]
    assert traces["front, predicted"]["marker"]["symbol"] == "circle-open"
    assert traces["GPT-2 small, 1…9 layers"]["x"] == [0.02, 0.05, 0.1]
    line = next(t for t in figure["data"] if t["meta"]["role"] == "slice")
    assert (line["x"], line["y"]) == ([0.01, 0.02], [100, 800])


def test_hover_shows_the_architecture_escaped(tiny_design):
    baselines = [{**tiny_design.baselines[0], "name": "<img src=x>"}]
    figure = design_figures.slice_figures(dataclasses.replace(tiny_design, baselines=baselines))["memory,latency"]
    assert "&lt;img src=x" in figure["data"][-1]["hovertext"][0]
    assert "2 layers × 64, inner 128, heads 2" in by_name(figure)["front, measured"]["hovertext"][0]


def test_all_measured_is_one_group(tiny_design):
    front = [{**entry, "measured": True} for entry in tiny_design.front]
    figure = design_figures.slice_figures(dataclasses.replace(tiny_design, front=front))["memory,latency"]
    assert "Pareto front" in by_name(figure)
    assert "front, predicted" not in by_name(figure)


def test_the_front_in_space(tiny_design):
    figure = design_figures.space_figure(tiny_design)
    assert {trace["type"] for trace in figure["data"]} == {"scatter3d"}
    assert by_name(figure)["front, measured"]["z"] == [400, 100, 300]
    titles = [figure["layout"]["scene"][f"{name}axis"]["title"]["text"] for name in "xyz"]
    assert titles == ["latency", "memory", "decoder parameters"]


def test_two_quantities_have_one_slice_and_no_space(tiny_design):
    def without(row):
        return {**row, "values": {n: v for n, v in row["values"].items() if n != "memory"}}

    data = dataclasses.replace(
        tiny_design,
        objectives=["decoder_parameters", "latency"],
        front=[without(e) for e in tiny_design.front],
        baselines=[without(b) for b in tiny_design.baselines],
    )
    assert list(design_figures.slice_figures(data)) == ["latency,decoder_parameters"]
    assert design_figures.space_figure(data) is None


def test_predictions_are_drawn_with_the_fits_own_checks(tiny_design):
    figure = design_figures.prediction_figure(tiny_design)
    traces = by_name(figure)
    assert traces["checked after the fit"]["y"] == [0.010]
    assert traces["front"]["customdata"] == ["c", "a", "b"]
    assert traces["equal"]["x"] == [0.009, 0.033]
    assert "+10.0% off" in traces["front"]["hovertext"][0]
    bare = dataclasses.replace(tiny_design, front=tiny_design.front[3:], latency_model=None)
    assert design_figures.prediction_figure(bare) is None


def test_many_candidates_are_thinned_out(design_run):
    assert len(design_figures.candidates(design_run)) > 500
    many = dataclasses.replace(design_run, trials=design_run.trials * 4)
    assert 700 < len(design_figures.candidates(many)) <= design_figures.MOST_POINTS


def test_figures_are_plain_json(design_run):
    figures = [*design_figures.slice_figures(design_run).values(), design_figures.space_figure(design_run)]
    for figure in [*figures, design_figures.prediction_figure(design_run)]:
        json.dumps(figure, allow_nan=False)
        assert "template" not in figure["layout"]
