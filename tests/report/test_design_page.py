from __future__ import annotations

import dataclasses

from secateur.report import design_page, design_rows, render
from secateur.report.numbers import SPACE, show


def by_name(figure):
    return {trace["name"]: trace for trace in figure["data"] if trace.get("name")}


def test_a_slice_has_candidates_front_line_and_baselines(tiny_design):
    figure = design_page.slice_figures(tiny_design)["latency,decoder_parameters"]
    traces = by_name(figure)
    assert list(traces) == ["candidates", "front, measured", "front, predicted", "GPT-2 small, 1…9 layers"]
    assert traces["candidates"]["customdata"] == ["e"]  # complete, and not on the front
    assert traces["front, measured"]["customdata"] == ["c", "a", "b"]
    assert traces["front, predicted"]["marker"]["symbol"] == "circle-open"
    assert traces["GPT-2 small, 1…9 layers"]["x"] == [0.02, 0.05, 0.1]
    line = next(t for t in figure["data"] if t["meta"]["role"] == "slice")
    assert (line["x"], line["y"]) == ([0.01, 0.02], [100, 800])


def test_two_families_of_baselines_are_told_apart(tiny_design):
    other = [{**b, "family": "GPT-2 small with embedding 64"} for b in tiny_design.baselines]
    data = dataclasses.replace(tiny_design, baselines=[*tiny_design.baselines, *other])
    first, second = design_page.slice_figures(data)["memory,latency"]["data"][-2:]
    assert first["name"] != second["name"]
    assert first["marker"]["color"] != second["marker"]["color"]
    assert first["marker"]["symbol"] != second["marker"]["symbol"]
    assert first["line"]["dash"] != second["line"]["dash"]


def test_hover_shows_the_architecture_escaped(tiny_design):
    baselines = [{**tiny_design.baselines[0], "name": "<img src=x>"}]
    figure = design_page.slice_figures(dataclasses.replace(tiny_design, baselines=baselines))["memory,latency"]
    assert "&lt;img src=x" in figure["data"][-1]["hovertext"][0]
    assert "2 layers × 64, inner 128, heads 2" in by_name(figure)["front, measured"]["hovertext"][0]


def test_all_measured_is_one_group(tiny_design):
    front = [{**entry, "measured": True} for entry in tiny_design.front]
    figure = design_page.slice_figures(dataclasses.replace(tiny_design, front=front))["memory,latency"]
    assert "Pareto front" in by_name(figure)
    assert "front, predicted" not in by_name(figure)


def test_the_front_in_space(tiny_design):
    figure = design_page.space_figure(tiny_design)
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
    assert list(design_page.slice_figures(data)) == ["latency,decoder_parameters"]
    assert design_page.space_figure(data) is None


def test_predictions_are_drawn_with_the_fits_own_checks(tiny_design):
    figure = design_page.prediction_figure(tiny_design)
    traces = by_name(figure)
    assert traces["checked after the fit"]["y"] == [0.010]
    assert traces["front"]["customdata"] == ["c", "a", "b"]
    assert traces["equal"]["x"] == [0.009, 0.033]
    assert "+10.0% off" in traces["front"]["hovertext"][0]
    bare = dataclasses.replace(tiny_design, front=tiny_design.front[3:], latency_model=None)
    assert design_page.prediction_figure(bare) is None


def test_many_candidates_are_thinned_out(design_run):
    assert len(design_page.candidates(design_run)) == 400 - 1 - len(design_run.front)
    many = dataclasses.replace(design_run, trials=design_run.trials * 5)
    assert 800 < len(design_page.candidates(many)) <= design_page.MOST_POINTS


def test_the_page_has_the_tables_numbers_and_the_first_trials(design_run, own_page):
    page = own_page(design_run)
    table = design_rows.front_table(design_run)
    for row in table.rows:
        body = page.split(f'id="entry-{row["key"]}"')[1].split('<tr class="details"')[0]
        assert f'<code title="{row["key"]}">{row["key"][:8]}</code>' in body
        assert all(show(row[c.name], c.shown_as) in body for c in table.columns[1:])
        assert ('<span title="predicted">≈ </span>' in body) is not row["measured"]
    shown = page.split('id="comparison"')[1].split("</table>")[0]
    comparison = design_rows.comparison_table(design_run)
    for row in comparison.rows:
        assert all(show(row[c.name], c.shown_as) in shown for c in comparison.columns)
    average = design_rows.comparison_average(design_run)
    last = shown.split('<tbody class="whole">')[1]
    assert all(show(average[f"{cost}_saving"], "share") in last for cost in design_run.costs)
    assert all(part in page for part in design_rows.summary(design_run)[0].split(", "))
    assert design_rows.summary(design_run)[1] in page
    trials = page.split('id="trials"')[1].split("</table>")[0]
    assert trials.count("<tr>") == design_page.MOST_TRIALS + 1
    assert f"The first {design_page.MOST_TRIALS} are shown; all {len(design_run.trials)}" in page


def test_every_part_is_there(tiny_design, own_page):
    page = own_page(tiny_design).replace(SPACE, " ")
    for words in (
        "the machine was busy",
        "decoder_parameters>=50 ↑, latency<=40ms ↓, memory ↓",
        "secateur train runs/toy --key c --text corpus.txt",
        "Against GPT-2 small, 2 layers",
        "1 baseline has more decoder parameters than any member",
        "Fitted on 12 networks measured on this device, in 30.0 s",
        "Its latency is predicted by the latency model, not measured.",
        "searched for 1 min 30 s",
        "decoder_parameters 1 < 5",
        "space.layers",
    ):
        assert words in page
    assert page.count('class="picture compact"') == 4


def test_a_run_with_nothing_yet_and_one_without_baselines_still_render(tiny_design):
    nothing = {"trials": [], "front": [], "journal": [], "notes": [], "settings": {}, "load_code": ""}
    alone = dataclasses.replace(tiny_design, baselines=[], latency_model=None)
    page = render(dataclasses.replace(alone, **nothing))
    assert "No trial is complete yet." in page
    assert "<h2>Latency model" not in page
    front = render(dataclasses.replace(alone, front=tiny_design.front[3:]))
    assert "Its numbers" in front
    assert "Against layer scaling" not in page + front
