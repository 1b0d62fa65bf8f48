"""The page about a trained encoding: what is drawn of which numbers, and in a browser that drawings are those of the space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from secateur.report.cell_drawings import drawings
from secateur.report.encoding_data import Box, Decoded, EncodingData, Map, Measure, Nearness, Samples, Walk
from secateur.report.encoding_page import (
    counted,
    distances_figure,
    encoding_html,
    facts,
    losses_figure,
    map_figure,
    shown,
    summary,
    words,
)
from secateur.rng import generator
from secateur.spaces.cells import CellSpace, Darts, NasBench101, NasBench201
from secateur.spaces.cells.drawing import Look, drawn
from secateur.spaces.pruning import Medium, Shape

from .test_chromium import CHROMIUM, DRAWN, Browser

CARD = {"method": "arch2vec", "space": "toy", "options": {"merged": False}, "settings": {"width": 8}, "seed": 0}
CARD |= {"losses": [2.0, 1.0], "figures": {"operations": 0.5, "beyond": 12.0}, "trained_on": 90, "tested_on": 10, "seconds": 3}
ACCURACY = Measure("accuracy", "max", 200, "toy")


def data(space: Any, n: int = 30, measure: Measure | None = ACCURACY) -> EncodingData:
    rng = generator(0)
    people = list({a.key: a for a in space.sample_many(2 * n, rng)}.values())[:n]
    values = rng.random(len(people))
    values[3] = np.nan
    near = Nearness(10, 20, 0.5, [Box(1, 4, 0.1, 0.2, 0.3, 0.4, 0.5), Box(2, 9, 0.2, 0.3, 0.4, 0.5, 0.6)])
    samples = None
    if isinstance(space, CellSpace):
        graphs = [next(iter(space.graphs(a).values())) for a in people[:2]]
        way = [Decoded(graphs[0], 0.5, (0.0, 0.4)), Decoded(None, np.nan, (0.45, 0.45)), Decoded(graphs[1], 0.25, (0.5, 1.0))]
        samples = Samples(100, 7, 2, [Decoded(graph, np.nan) for graph in graphs], way)
    return EncodingData(
        name="runs/<a>",
        card=CARD,
        space=space,
        dimensions=16,
        total=1234,
        among=n,
        measure=measure,
        map=Map(people, rng.standard_normal((len(people), 2)), values, "tsne", range(4)),
        walk=Walk(people[:4], values[:4], [1, 3, 2], 6.0),
        nearness=near,
        samples=samples,
    )


CELLS = data(NasBench201(merged=False))


def test_what_is_said() -> None:
    assert summary(CELLS) == (
        "16 numbers for each of 1,234 architectures of nasbench201. 2.0 edits from one to the nearest on a walk, 6.0 between "
        "random ones. Spearman's correlation of latent and edit distance: 0.50."
    )
    assert [counted(10**11), counted(10**53)] == ["100,000,000,000", "about 10⁵³"]
    assert str(ACCURACY) == "accuracy at budget 200"
    assert [ACCURACY.said(93.4159), Measure("parameters").said(4_128_000.0)] == ["93.42", "4.13\N{NO-BREAK SPACE}M"]
    assert ("table", "toy") in facts(CELLS)
    assert ("merged", "False") in facts(CELLS)


def test_points_are_coloured_by_their_values() -> None:
    drawn = map_figure(CELLS.map, CELLS.measure)["data"]
    grey, points, walk, start, chosen = drawn
    assert grey["customdata"] == [3]
    assert points["customdata"] == [i for i in range(30) if i != 3]
    assert points["marker"]["color"] == CELLS.map.values[points["customdata"]].tolist()
    assert points["marker"]["cmin"] == pytest.approx(np.quantile(points["marker"]["color"], 0.05))
    assert points["marker"]["cmax"] == max(points["marker"]["color"])
    assert walk["x"] == pytest.approx(CELLS.map.places[:4, 0].tolist(), rel=1e-3)
    assert start["x"] == walk["x"][:1]
    assert chosen["x"] == []
    error = map_figure(CELLS.map, Measure("error", "min", None, "toy"))["data"][1]["marker"]
    assert error["reversescale"]
    assert error["cmax"] == pytest.approx(np.quantile(error["color"], 0.95))
    plain = map_figure(CELLS.map, None)["data"]
    assert (len(plain), plain[0]["customdata"]) == (4, list(range(30)))


def test_other_figures() -> None:
    assert losses_figure([2.0, 1.0])["data"][0]["y"] == [2.0, 1.0]
    assert CELLS.nearness is not None
    (boxes,) = distances_figure(CELLS.nearness)["data"]
    assert (boxes["x"], boxes["median"], boxes["upperfence"]) == ([1, 2], [0.3, 0.4], [0.5, 0.6])


def test_points_from_the_best_to_the_worst() -> None:
    found = shown(CELLS)
    values = CELLS.map.values
    assert found["order"] == sorted(range(30), key=lambda i: (np.isnan(values[i]), -np.nan_to_num(values[i]), i))
    assert (found["said"][3], found["order"][-1]) == ("", 3)
    assert found["keys"] == [a.key for a in CELLS.map.architectures]
    medium = shown(data(Medium(Shape(2, 3, 8)), measure=None))
    assert medium["order"] == list(range(30))
    assert "drawings" not in medium
    assert medium["words"][0].startswith("heads ")


def test_words() -> None:
    assert words(Medium(Shape(2, 3, 8)).make({"heads": (3, 1), "units": (8, 0)})) == "heads 3·1, units 8·0"


def test_structures_are_shared() -> None:
    space = NasBench201(merged=False)
    found = drawings(space, space.sample_many(50, generator(0)))
    assert len(found["structures"]) == 1
    assert {len(cells) for cells in found["cells"]} == {1}
    names = [found["names"][i] for i in found["cells"][0][0][1:]]
    assert tuple(names) == space.graphs(space.sample_many(50, generator(0))[0])["cell"].operations


def test_a_page_is_complete_without_what_does_not_exist() -> None:
    bare = replace(CELLS, walk=None, nearness=None, samples=None, measure=None, card={**CARD, "losses": [], "figures": {}})
    text = encoding_html(bare)
    assert text.count("has no edit distance") == 2
    assert "<h2>Decoded</h2>" not in text
    assert "runs/&lt;a&gt;" in text
    assert "<a>" not in text


browsed = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.mark.parametrize("space", [NasBench201(), NasBench101(), Darts()], ids=lambda space: space.name)
class TestInABrowser:
    pytestmark = browsed

    def test_every_point_is_drawn_as_its_space_draws_it(self, browser, space, tmp_path):
        """Through the slider, from the best to the worst, a point after the other."""
        found = data(space)
        page = tmp_path / "page.html"
        page.write_text(encoding_html(found), encoding="utf-8")
        look = Look.narrow(space.frame.names)
        pictures = [drawn(space.graphs(a), look) for a in found.map.architectures]
        script = f"""
          const pictures = {pictures!r}, slider = document.getElementById("through"), other = document.createElement("div");
          const panel = document.getElementById("looked-at"), drawing = document.getElementById("chosen-drawing");
          const found = [];
          for (let place = 0; place < pictures.length; place++) {{
            slider.value = place; slider.dispatchEvent(new Event("input"));
            other.innerHTML = pictures[panel.dataset.index];
            found.push([Number(panel.dataset.index), other.innerHTML === drawing.innerHTML,
                        document.getElementById("chosen-value").textContent]);
          }}
          return found;
        """
        told = browser.browse(page, script)
        assert [index for index, _, _ in told] == shown(found)["order"]
        assert all(same for _, same, _ in told)
        assert [said for _, _, said in told] == [shown(found)["said"][index] for index, _, _ in told]


SCRIPT = f"""
  document.querySelectorAll("details").forEach((details) => {{ details.open = true; }});
  return [document.documentElement.scrollWidth, {DRAWN}];
"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
@pytest.mark.parametrize("width", [420, 1280])
@pytest.mark.parametrize("space", [NasBench101(), Darts(), Medium(Shape(4, 12, 64))], ids=lambda space: space.name)
def test_nothing_overflows_and_all_is_drawn(browser, space, width, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(encoding_html(data(space)), encoding="utf-8")
    needed, figures = browser.browse(page, SCRIPT, width=width)
    assert needed <= width
    assert figures == [["map", True], ["distances", True], ["losses", True]]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
def test_pointing_shows_and_a_click_keeps(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(encoding_html(CELLS), encoding="utf-8")
    script = """
      const plot = document.querySelector('[data-figure="map"]'), panel = document.getElementById("looked-at");
      const send = (event, index) => { plot.emit(event, {points: [{customdata: index}]}); return Number(panel.dataset.index); };
      const ring = () => plot.data[plot.data.length - 1].x.length;
      const first = Number(panel.dataset.index);
      return [first, send("plotly_hover", 5), ring(), send("plotly_click", 6), ring(), send("plotly_hover", 7),
              send("plotly_click", 6), ring(), send("plotly_hover", 8), send("plotly_hover", undefined)];
    """
    best = int(np.nanargmax(CELLS.map.values))
    assert browser.browse(page, script) == [best, 5, 0, 6, 1, 6, 6, 0, 8, 8]
