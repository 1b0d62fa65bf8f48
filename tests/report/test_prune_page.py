from __future__ import annotations

import dataclasses

from secateur.report import prune_page, prune_rows, render, rows
from secateur.report.charts import hypervolume_figure
from secateur.report.numbers import show


def roles(figure):
    return {trace["meta"]["role"]: trace for trace in figure["data"]}


def test_pareto_has_a_trace_per_role(tiny):
    traces = roles(prune_page.pareto_figure(tiny))
    assert list(traces) == ["trial", "line", "front", "polished", "unpruned"]
    assert (traces["front"]["x"], traces["front"]["y"]) == ([100, 200, 400], [0.6, 0.5, 0.3])
    assert (traces["line"]["mode"], traces["line"]["visible"]) == ("lines", True)
    assert (traces["polished"]["x"], traces["polished"]["y"]) == ([400], [0.25])
    assert (traces["unpruned"]["x"], traces["unpruned"]["y"]) == ([1000], [0.2])
    assert traces["trial"]["customdata"] == ["d"]  # complete, and not on the front


def test_the_line_goes_through_what_can_be_had(tiny):
    entries = [{**tiny.front[0], "weights": "polished"}, tiny.front[1], {**tiny.front[2], "best": False}]
    line = roles(prune_page.pareto_figure(dataclasses.replace(tiny, front=entries)))["line"]
    assert (line["x"], line["y"]) == ([200, 400], [0.5, 0.25])


def test_chance_is_a_dashed_line_and_what_is_no_better_is_grey(tiny):
    figure = prune_page.pareto_figure(dataclasses.replace(tiny, chance=0.5))
    (line,) = figure["layout"]["shapes"]
    assert (line["y0"], line["y1"], line["xref"]) == (0.5, 0.5, "paper")
    assert (line["line"]["dash"], line["label"]["text"]) == ("dash", "chance")
    axes = figure["layout"]["meta"]["axes"]
    assert (axes["error"]["across"][0]["x0"], axes["error"]["upwards"], axes["parameters"]["across"]) == (0.5, [line], [])
    traces = roles(figure)
    assert traces["front"]["customdata"] == ["c"]
    assert (traces["chance"]["customdata"], traces["chance"]["name"]) == (["e", "a"], "no better than chance")
    assert all("no better than chance" in text for text in traces["chance"]["hovertext"])
    assert "no better" not in traces["front"]["hovertext"][0]
    assert not prune_page.pareto_figure(tiny)["layout"].get("shapes")
    worse = roles(prune_page.pareto_figure(dataclasses.replace(tiny, chance=0.76)))
    assert worse["chance"]["customdata"] == ["e", "a", "c", "c"]  # with its polished weights too
    assert "polished" not in worse


def test_pareto_hover_shows_the_architecture_escaped(tiny):
    nasty = dataclasses.replace(tiny, front=[{**tiny.front[0], "architecture": "<img src=x onerror=alert(1)>"}])
    hover = roles(prune_page.pareto_figure(nasty))["front"]["hovertext"][0]
    assert "&lt;img src=x" in hover
    assert "40.0" in hover


def test_axes_without_an_error(tiny):
    assert prune_page.default_axes(dataclasses.replace(tiny, objectives=["latency<=20ms", "memory"])) == ("latency", "memory")
    assert prune_page.default_axes(dataclasses.replace(tiny, objectives=["error"])) == ("parameters", "error")
    assert prune_page.default_axes(dataclasses.replace(tiny, objectives=["memory"])) == ("memory", "memory")


def test_hypervolume_draws_the_table(tiny):
    trace = hypervolume_figure(tiny)["data"][0]
    assert trace["y"] == [row["hypervolume"] for row in rows.hypervolume_rows(tiny)]
    assert hypervolume_figure(dataclasses.replace(tiny, trials=[])) is None


def test_curves_leave_gaps_where_the_loss_is_no_number(tiny):
    assert prune_page.curve_figures(tiny)["train"]["data"][0]["y"] == [0.9, None, 0.4]


def test_curves_take_losses_and_errors_and_are_bounded(tiny):
    rows = [{"step": 1, "loss": 1.0, "learning_rate": 0.1, "eval_error": 0.3}, {"step": 2, "loss": 0.5, "learning_rate": 0.1}]
    many = dataclasses.replace(tiny, curves={f"run {i}": rows for i in range(20)} | {"empty": []})
    drawn = prune_page.curve_figures(many)
    assert len(drawn) == prune_page.MOST_CURVES
    assert [(t["name"], t["x"]) for t in drawn["run 0"]["data"]] == [("loss", [1, 2]), ("eval error", [1])]


def test_importance_maps(tiny):
    assert prune_page.heads_figure(tiny)["data"][0]["z"] == [[1.0, 3.0], [2.0, 0.0]]
    assert "place 1 of 2" in prune_page.heads_figure(tiny)["data"][0]["text"][0][1]
    assert len(prune_page.units_figure(tiny)["data"]) == 2
    bare = dataclasses.replace(tiny, importance=None)
    assert prune_page.heads_figure(bare) is None
    assert prune_page.units_figure(bare) is None


def test_pareto_of_three_objectives_offers_axes_and_draws_no_line(large_run):
    figure = prune_page.pareto_figure(dataclasses.replace(large_run, objectives=["error", "latency", "memory"]))
    assert roles(figure)["line"]["visible"] is False
    meta = figure["layout"]["meta"]
    assert (meta["x"], meta["y"]) == ("latency", "error")
    assert list(meta["axes"])[:3] == ["error", "latency", "memory"]
    assert len(roles(figure)["front"]["meta"]["columns"]["memory"]) == len(large_run.front)


def test_the_page_has_the_tables_numbers(large_run, own_page):
    page = own_page(large_run)
    table = prune_rows.front_table(large_run)
    for row in table.rows:
        body = page.split(f'id="entry-{row["key"]}"')[1].split('<tr class="details"')[0]
        for column in table.columns[1:]:
            assert show(row[column.name], column.shown_as) in body
            if row.get(f"{column.name}_share") is not None:
                assert f"<small>{show(row[f'{column.name}_share'], 'share')}</small>" in body
    assert prune_rows.summary(large_run) in page
    for entry in large_run.front:
        panel = page.split(f'id="details-{entry["key"]}"')[1].split('<tbody class="entry"')[0]
        for line in prune_rows.before_after(large_run, entry).rows:
            cells = [show(line[name], how) for name, how in (("before", line["shown_as"]), ("after", line["shown_as"]))]
            cells.append(show(line["ratio"], "share"))
            assert "".join(f'<td class="number">{c}</td>' for c in cells) in panel
        assert f"--key {entry['key']}" in panel
        assert f'<code>{entry["key"]}</code> <button type="button" class="copy">' in panel


def test_every_part_is_there(tiny, own_page):
    page = own_page(tiny)
    for words in (
        "the machine was busy",
        "Failed and infeasible trials (2)",
        "the loss is NaN",
        "training.epochs",
        "Hypervolume",
        "<li>layer 0: 1</li>",
        "<li>layer 1: gone</li>",
        "<dt>spread</dt><dd>1.2\N{NO-BREAK SPACE}%</dd>",
        "<dt>turns</dt><dd>3</dd>",
    ):
        assert words in page
    assert page.count('class="picture compact"') == 3


def test_the_gain_comes_first_and_leads_to_its_row(tiny, own_page):
    lead = {"lead": "2.9 × faster, −3.1 points", "lead_key": "c", "lead_about": "two layers", "lead_details": "42.0 → 14.2 ms"}
    front = [{**tiny.front[0], "weights": "polished", "gain_text": "2.9 × faster, 60 % smaller"}, *tiny.front[1:]]
    cards = [{"limit": 0.5, "key": "c"}]
    page = own_page(dataclasses.replace(tiny, **lead, front=front, cards=cards))
    order = ['<a href="#key=c"><span>2.9 × faster,</span>', "two layers.", "42.0 → 14.2 ms.", "scored by accuracy"]
    order += [
        "≤ 50 % of parameters",
        '<p class="value">2.9 × faster</p>',
        "60 % smaller",
        "<em>polished</em>",
        "<b>Polished</b>: fine-tuned",
    ]
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    assert "Unfinished" not in page
    assert "in the end" in page


def test_what_is_no_better_than_chance_says_so(tiny, own_page):
    front = [{**tiny.front[0], "chance": True, "gain_text": "9 × faster, −50 points"}, *tiny.front[1:]]
    page = own_page(dataclasses.replace(tiny, front=front, chance=0.5, cards=[{"limit": 0.5, "key": "c"}], doubt="WARNING: no"))
    assert '<aside class="banner doubt" role="alert"><p>WARNING: no</p></aside>' in page
    assert '<p class="value">no better than chance</p>' in page
    assert '<tbody class="entry chance" id="entry-c"' in page
    assert page.count("<small>no better than chance</small>") == 1
    assert 'id="summary"' not in page


def test_an_unfinished_run_says_where_it_is_and_claims_no_end(tiny, own_page):
    where = {"stage": "search", "progress": "3 of 9", "reason": "", "resume": "secateur resume runs/toy"}
    page = own_page(dataclasses.replace(tiny, lead="2.9 × faster", unfinished=where))
    assert "has reached its stage “search”: 3 of 9." in page
    assert "<code>secateur resume runs/toy</code>" in page
    assert "So far: 2.9 × faster" in page
    assert "in the end" not in page
    stopped = own_page(dataclasses.replace(tiny, unfinished=where | {"reason": "interrupted"}))
    assert "stopped in its stage “search”: interrupted." in stopped
    assert "has not begun" in own_page(dataclasses.replace(tiny, unfinished=where | {"stage": ""}))


def test_a_run_with_nothing_yet_still_renders(tiny):
    nothing = {"trials": [], "front": [], "journal": [], "curves": {}, "importance": None, "notes": [], "settings": {}}
    assert "No trial is complete yet." in render(dataclasses.replace(tiny, **nothing, load_code=""))
