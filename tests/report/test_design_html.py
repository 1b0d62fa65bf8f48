from __future__ import annotations

import dataclasses
import html
import json
import re

import pytest

from secateur.report import design_tables, figures, render_design, write_design_report
from secateur.report.design_html import MOST_TRIALS
from secateur.report.numbers import show


@pytest.fixture(scope="module")
def own_page(design_run):
    """The page without plotly.js, which holds addresses that it never visits here."""
    return render_design(design_run).replace(figures.plotly_javascript(), "")


def test_the_page_has_the_tables_numbers(design_run, own_page):
    table = design_tables.front_table(design_run)
    for row in table.rows:
        body = own_page.split(f'id="entry-{row["key"]}"')[1].split('<tr class="details"')[0]
        assert all(show(row[c.name], c.kind) in body for c in table.columns[1:])
    shown = own_page.split('id="comparison"')[1].split("</table>")[0]
    comparison = design_tables.comparison_table(design_run)
    for row in comparison.rows:
        assert all(show(row[c.name], c.kind) in shown for c in comparison.columns)
    average = design_tables.comparison_average(design_run)
    last = shown.split('<tbody class="whole">')[1]
    assert all(show(average[f"{cost}_saving"], "share") in last for cost in design_run.costs)
    assert design_tables.summary(design_run) in html.unescape(own_page)


def test_every_part_is_there(tiny_design):
    page = html.unescape(render_design(tiny_design)).replace("\N{NO-BREAK SPACE}", " ")
    for words in (
        "the machine was busy",
        "decoder_parameters>=50 ↑, latency<=40ms ↓, memory ↓",
        "secateur train runs/toy --key c --text corpus.txt",
        "Against GPT-2 small, 2 layers",
        "1 baseline has more decoder parameters than any member",
        "Fitted on 12 networks measured on this device, in 30.0 s",
        "Its latency is the latency model's, not measured.",
        "searched for 1 min 30 s",
        "decoder_parameters 1 < 5",
        "space.layers",
    ):
        assert words in page
    assert page.count('class="picture compact"') == 4
    assert page.count("plotly.js v") == 1


def test_the_page_fetches_nothing(own_page):
    assert not re.findall(r"(?:https?:)?//[\w.-]+\.\w+", own_page)
    assert "default-src 'none'" in own_page


def test_long_lists_of_trials_are_cut_and_say_so(design_run, own_page):
    trials = own_page.split('id="trials"')[1].split("</table>")[0]
    assert trials.count("<tr>") == MOST_TRIALS + 1
    assert f"The first {MOST_TRIALS} are shown; all {len(design_run.trials)}" in own_page


def test_names_are_escaped_everywhere(tiny_design):
    evil = "</script><script>alert('x')</script><img src=x onerror=alert(2)>"
    data = dataclasses.replace(
        tiny_design,
        title=evil,
        notes=[evil],
        device=evil,
        settings={evil: evil},
        trials=[{**tiny_design.trials[0], "architecture": evil, "key": "x"}],
        front=[{**tiny_design.front[0], "architecture": evil, "details": {evil: evil}}],
        baselines=[{**tiny_design.baselines[0], "name": evil, "family": evil}],
        load_code=evil,
    )
    page = render_design(data).replace(figures.plotly_javascript(), "")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("</script>") == 3
    json.loads(re.search(r'id="figures">(.*?)</script>', page, re.DOTALL)[1])


def test_a_run_with_nothing_yet_still_renders(tiny_design):
    bare = dataclasses.replace(
        tiny_design, trials=[], front=[], baselines=[], journal=[], notes=[], settings={}, latency_model=None, load_code=""
    )
    page = render_design(bare)
    assert "No trial is complete yet." in page
    assert "Against layer scaling" not in page
    assert "<h2>Latency model" not in page


def test_a_front_without_baselines_or_model_renders(tiny_design):
    page = render_design(dataclasses.replace(tiny_design, baselines=[], latency_model=None, front=tiny_design.front[3:]))
    assert "Its numbers" in page
    assert "Against layer scaling" not in page


def test_write_makes_the_folder(tiny_design, tmp_path):
    path = tmp_path / "new" / "report.html"
    assert write_design_report(tiny_design, str(path)) == path
    assert "<h1>tiny design</h1>" in path.read_text(encoding="utf-8")
