from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from secateur.objectives import Objective
from secateur.report.compare_page import compare_html, fronts_figure, progress_figure, styles
from secateur.report.compare_rows import Comparison

from .test_compare_rows import OBJECTIVES, run

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def found() -> Comparison:
    runs = [run("a", [(0.5, 50.0), (0.4, 60.0)]), run("b", [(0.3, 70.0)], 1), run(EVIL, [(0.6, 40.0)], searcher="local")]
    return Comparison(runs, OBJECTIVES, "accuracy", ["mind the <b>gap</b>"])


def test_fronts_are_overlaid(found: Comparison) -> None:
    traces = {trace["name"]: trace for trace in fronts_figure(found)["data"]}
    assert list(traces) == ["a", "b", "&lt;script&gt;alert(1)&lt;/script&gt;", "no run beats these", "unpruned"]
    assert traces["a"]["x"] == [50.0, 60.0]
    assert traces["a"]["mode"] == "lines+markers"
    assert len(traces["no run beats these"]["x"]) == len(found.unbeaten) == 4


def test_other_axes_can_be_chosen_where_all_have_them() -> None:
    objectives = [*OBJECTIVES, Objective("latency")]
    one = run("a", [(0.5, 50.0)])
    one.members[0]["values"] |= {"latency": 0.1, "macs": 3.0}
    other = run("b", [(0.4, 60.0)])
    other.members[0]["values"] |= {"latency": 0.2}
    drawn = fronts_figure(Comparison([one, other], objectives))
    assert list(drawn["layout"]["meta"]["axes"]) == ["error", "body_parameters", "latency"]
    assert {trace["mode"] for trace in drawn["data"]} == {"markers"}  # a line would not be the front of three objectives


def test_seeds_share_a_colour(found: Comparison) -> None:
    (a, b, c) = styles(found)
    assert a[0] == b[0] != c[0]
    assert a[1:] != b[1:]
    alone = styles(Comparison(found.runs[:2], OBJECTIVES))
    assert alone[0][0] != alone[1][0]


def test_progress(found: Comparison) -> None:
    assert [len(trace["y"]) for trace in progress_figure(found)["data"]] == [2, 1, 1]


def test_the_page_is_whole_and_escaped(found: Comparison) -> None:
    text = compare_html(found)
    assert EVIL not in text
    assert "mind the &lt;b&gt;gap&lt;/b&gt;" in text
    figures = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    assert figures is not None
    assert set(json.loads(figures[1])) == {"pareto", "progress"}
    seen: list[str | None] = []

    class Tables(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            if tag == "table":
                seen.append(dict(attributes)["id"])

    Tables().feed(text)
    assert seen == ["runs", "groups", "unbeaten"]
