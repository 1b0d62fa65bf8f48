from __future__ import annotations

import dataclasses
import html
import json
import re
import sys

import pytest

from secateur.errors import MissingExtraError
from secateur.report import figures, render, tables, write_report
from secateur.report.html import embedded
from secateur.report.numbers import show


@pytest.fixture(scope="module")
def own_page(large_run):
    """The page without plotly.js, which holds addresses that it never visits here."""
    return render(large_run).replace(figures.plotly_javascript(), "")


def test_the_page_has_the_tables_numbers(large_run, own_page):
    table = tables.front_table(large_run)
    for row in table.rows:
        body = own_page.split(f'id="entry-{row["key"]}"')[1].split('<tr class="details"')[0]
        for column in table.columns[1:]:
            assert show(row[column.name], column.kind) in body
            if row[f"{column.name}_share"] is not None:
                assert f"<small>{show(row[f'{column.name}_share'], 'share')}</small>" in body
    assert tables.summary(large_run) in html.unescape(own_page)
    for entry in large_run.front:
        panel = own_page.split(f'id="details-{entry["key"]}"')[1].split('<tbody class="entry"')[0]
        for line in tables.before_after(large_run, entry).rows:
            cells = [show(line["before"], line["kind"]), show(line["after"], line["kind"]), show(line["ratio"], "share")]
            assert "".join(f'<td class="number">{c}</td>' for c in cells) in panel
        assert f"--key {entry['key']}" in panel


def test_every_part_is_there(tiny):
    page = render(tiny)
    for words in (
        "the machine was busy",
        "Failed and infeasible trials (2)",
        "the loss is NaN",
        "training.epochs",
        "Hypervolume",
    ):
        assert words in page
    assert page.count('class="picture compact"') == 3
    assert page.count("plotly.js v") == 1


def test_the_page_fetches_nothing(own_page):
    assert not re.findall(r"(?:https?:)?//[\w.-]+\.\w+", own_page)
    assert "default-src 'none'" in own_page


def test_names_are_escaped_everywhere(tiny):
    evil = "</script><script>alert('x')</script><img src=x onerror=alert(2)>"
    trial = {**tiny.trials[1], "reason": evil, "architecture": evil}
    data = dataclasses.replace(
        tiny,
        title=evil,
        notes=[evil],
        device=evil,
        settings={evil: evil},
        curves={evil: tiny.curves["train"]},
        trials=[*tiny.trials, trial],
        front=[{**tiny.front[0], "architecture": evil, "details": {evil: evil}}],
        task={**tiny.task, "name": evil, "main": evil},
        load_code=evil,
    )
    page = render(data).replace(figures.plotly_javascript(), "")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("</script>") == 3
    shown = json.loads(re.search(r'id="figures">(.*?)</script>', page, re.DOTALL)[1])
    assert list(shown["curves"]) == [evil]


def test_embedded_json_survives():
    value = {"a": "</script><!-- & \u2028", "b": [1.5, None]}
    text = embedded(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028")
    with pytest.raises(ValueError, match="JSON"):
        embedded(float("nan"))


def test_a_run_with_nothing_yet_still_renders(tiny):
    bare = dataclasses.replace(
        tiny, trials=[], front=[], journal=[], curves={}, importance=None, notes=[], settings={}, load_code=""
    )
    page = render(bare)
    assert "No trial is complete yet." in page


def test_write_report_makes_the_folder_and_replaces(tiny, tmp_path):
    path = tmp_path / "new" / "report.html"
    assert write_report(tiny, str(path)) == path
    write_report(dataclasses.replace(tiny, title="second"), path)
    assert "<h1>second</h1>" in path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_without_jinja_the_extra_is_named(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"secateur\[report\]"):
        render(tiny)


def test_importing_the_report_loads_nothing_heavy():
    import subprocess

    heavy = ("torch", "plotly", "jinja2", "moocore", "transformers")
    code = f"import sys, secateur.report; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
