"""What all pages have in common: nothing is fetched, names are escaped, files are replaced whole, extras are named."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys

import pytest

from secateur.errors import MissingExtraError
from secateur.report import render, write_report
from secateur.report.page import embedded
from secateur.report.proxies_page import proxies_html

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(2)>"


@pytest.fixture(params=["tiny", "tiny_design"])
def data(request):
    return request.getfixturevalue(request.param)


def figures_of(page):
    return json.loads(re.search(r'id="figures">(.*?)</script>', page, re.DOTALL)[1])


def test_a_page_holds_all_it_needs_and_fetches_nothing(data, own_page):
    page = own_page(data)
    assert render(data).count("plotly.js v") == 1
    assert not re.findall(r"(?:https?:)?//[\w.-]+\.\w+", page)
    assert "default-src 'none'" in page
    assert '"template":' not in page


def test_names_are_escaped_everywhere(data, own_page):
    evil = {
        "title": EVIL,
        "notes": [EVIL],
        "device": EVIL,
        "settings": {EVIL: EVIL},
        "trials": [*data.trials, {**data.trials[0], "architecture": EVIL, "key": "x", "reason": EVIL}],
        "front": [{**data.front[0], "architecture": EVIL, "details": {EVIL: EVIL}}],
        "load_code": EVIL,
    }
    if hasattr(data, "baselines"):
        evil["baselines"] = [{**data.baselines[0], "name": EVIL, "family": EVIL}]
    else:
        evil |= {"curves": {EVIL: data.curves["train"]}, "task": {**data.task, "name": EVIL, "main": EVIL}}
    page = own_page(dataclasses.replace(data, **evil), raw=True)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("</script>") == 3
    assert list(figures_of(page).get("curves", {EVIL: None})) == [EVIL]


def test_embedded_json_survives():
    value = {"a": "</script><!-- & \u2028", "b": [1.5, None]}
    text = embedded(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028")
    with pytest.raises(ValueError, match="JSON"):
        embedded(float("nan"))


def test_write_report_makes_the_folder_and_replaces(data, tmp_path):
    path = tmp_path / "new" / "report.html"
    assert write_report(data, str(path)) == path
    write_report(dataclasses.replace(data, title="second"), path)
    assert "<h1>second</h1>" in path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def proxies():
    """Two proxies on three networks, of which the second scored none."""
    lines = {f"<{name}>": [(10.0, None), (100.0, value)] for name, value in (("a", 0.5), ("b", -0.25))}
    scatters = {"<a>": ([0.0, 3.0, 2.0], [30.0, 20.0, 25.0]), "<b>": ([], [])}
    return proxies_html("How & why", ["a <note>"], ["proxy", "rank"], [["<a>", "0.5"], ["<b>", "–"]], lines, lines, scatters)


def test_the_page_on_proxies_stands_in_the_same_frame():
    page = proxies()
    assert "<h1>How &amp; why</h1>" in page
    assert "a &lt;note&gt;" in page
    assert '<th scope="row">&lt;a&gt;</th><td class="number">0.5</td>' in page
    assert page.count('data-figure="bins"') == 2
    assert page.count('data-figure="scatters"') == 1
    figures = figures_of(page)
    first, second = figures["bins"]["Spearman"]["data"]
    assert (first["x"], first["y"], first["name"]) == ([100.0], [0.5], "&lt;a&gt;")
    assert figures["bins"]["common ratio"]["layout"]["yaxis"]["range"] == [-0.25, 1.02]
    dots = figures["scatters"]["<a>"]["data"][0]
    assert (dots["x"], dots["y"]) == ([1, 2, 3], [20.0, 25.0, 30.0])  # the best of the proxy first
    assert dots["hovertext"] == ["3.00: perplexity 20", "2.00: perplexity 25", "0: perplexity 30"]
    assert second["line"]["color"] != first["line"]["color"]


@pytest.mark.parametrize("library", ["plotly.graph_objects", "jinja2"])
def test_without_its_libraries_the_extra_is_named(data, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    for page in (lambda: render(data), proxies):
        with pytest.raises(MissingExtraError, match=r"secateur\[report\]"):
            page()


def test_importing_the_report_loads_nothing_heavy():
    heavy = ("torch", "plotly", "jinja2", "moocore", "transformers", "rich")
    code = f"import sys, secateur.report, secateur.report.terminal; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
