"""The pages in a real browser: scripts run, plots are drawn, tables sort, nothing is complained about."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import json
import os
import re
import select
import shutil
import subprocess
import sys

import pytest

from secateur.report import bench_page, design_rows, prune_rows, significance_page, write_report
from secateur.report.compare_page import compare_html
from secateur.report.compare_rows import Comparison
from secateur.report.proxies_page import proxies_html
from secateur.report.rows import Column, Table

from .test_compare_rows import OBJECTIVES, run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-unsafe-swiftshader", *QUIET]
#: What a software renderer says of itself is not the page's.
RENDERER = "GL Driver Message|software WebGL|willReadFrequently"
COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
KEYS = "Array.from(document.querySelectorAll('#front tbody.entry'), (entry) => entry.dataset.key)"
#: By name: whether each figure is drawn.
DRAWN = (
    "Array.from(document.querySelectorAll('[data-figure]'), (f) => [f.dataset.figure, Boolean(f.querySelector('.main-svg'))])"
)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")]


class Browser:
    """One chromium for all tests, driven through its debugging pipe: JSON messages, each ended by a zero byte."""

    def __init__(self, profile):
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        # It reads from file 3 and writes to file 4.
        start = f"import os, sys; os.dup2({commands}, 3); os.dup2({answers}, 4); os.execv(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", start, CHROMIUM, *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(command, pass_fds=(commands, answers), stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self._numbers, self._read, self._events = itertools.count(1), b"", []

    def call(self, method, session=None, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != number:
            self._events.append(answer)
        return answer["result"]

    def _next(self):
        while b"\0" not in self._read:
            assert select.select([self._answers], [], [], 120)[0], "chromium does not answer"
            self._read += os.read(self._answers, 1 << 20)
        message, _, self._read = self._read.partition(b"\0")
        return json.loads(message)

    def browse(self, path, script, fragment="", width=1280, before="", picture=False):
        """What a script of the test's returns on a loaded page (and a picture of it); asserts that nobody complained."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable", session)
        self.call("Emulation.setDeviceMetricsOverride", session, width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.addScriptToEvaluateOnNewDocument", session, source=before)
        self._events.clear()
        self.call("Page.navigate", session, url=path.as_uri() + fragment)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._events.append(self._next())
        settled = "await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));"
        code = f"(async () => {{ {settled} {script} }})()"
        found = self.call("Runtime.evaluate", session, expression=code, awaitPromise=True, returnByValue=True)
        shot = self.call("Page.captureScreenshot", session)["data"] if picture else ""
        self.call("Target.closeTarget", targetId=target)
        said = [json.dumps(event) for event in self._events if event["method"] in COMPLAINTS]
        assert [text for text in said if not re.search(RENDERER, text)] == []
        assert "exceptionDetails" not in found, found
        value = found["result"].get("value")
        return (value, base64.b64decode(shot)) if picture else value

    def close(self):
        self.call("Browser.close")
        self._process.wait(60)
        os.close(self._commands)
        os.close(self._answers)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def pages(large_run, design_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    names = [f"proxy {i}" for i in range(7)]
    lines = {name: [(10.0, 0.1 * i), (50.0, None), (100.0, 0.9)] for i, name in enumerate(names)}
    proxies = proxies_html("Proxies", ["a note"], ["proxy", *names], [["a", *names]], lines, lines, {"a": ([1.0], [2.0])})
    (folder / "proxies.html").write_text(proxies, encoding="utf-8")
    written = {
        name: write_report(data, folder / f"{name}.html") for name, data in (("prune", large_run), ("design", design_run))
    }
    runs = [run("a", [(0.5, 50.0), (0.4, 60.0)]), run("b", [(0.3, 70.0)], 1), run("c", [(0.6, 40.0)], searcher="local")]
    (folder / "compare.html").write_text(compare_html(Comparison(runs, OBJECTIVES)), encoding="utf-8")
    (folder / "bench.html").write_text(bench(), encoding="utf-8")
    return written | {name: folder / f"{name}.html" for name in ("proxies", "compare", "bench")}


def bench():
    """A page of a bench with every kind of its figures, and names that must not be taken for HTML."""
    names = [f"<i>arm {i}</i>" for i in range(7)]
    courses = {name: ([1.0, 2.0], [0.5, 0.0], [0.4, 0.0], [0.6, 0.1]) for name in names}
    figures = {
        "over <b>time</b>": bench_page.courses_figure(courses, "trials", "regret", log=True),
        "boxes": bench_page.boxes_figure({name: [3.1, 3.2] for name in names}, "hypervolume"),
        "sizes": bench_page.histogram_figure([0.2, 0.3, 1.0]),
        "levels": bench_page.levels_figure(courses, names),
        "differences": significance_page.critical_difference_figure(
            {name: 1.0 + i for i, name in enumerate(names)}, 1.2, [names[:2], names[1:]], names
        ),
        "matrix": significance_page.significance_figure(
            names, {(a, b): significance_page.Cell(0.01, a < b, f"{a} and {b}") for a in names for b in names if a != b}
        ),
        "fronts": bench_page.fronts_figure({name: ([0.1, 0.9], [0.4, 0.2]) for name in names}, 0.19, names[:3]),
    }
    table = Table(
        [Column("arm", "arm"), *(Column(n, n, "score") for n in names)], [{"arm": "a", **dict.fromkeys(names, "3.1")}]
    )
    sections = [bench_page.Section("Figures", "a caption", None, figures), bench_page.Section("Table", table=table)]
    return bench_page.bench_html("A bench", ["a note"], sections)


def test_every_figure_is_drawn_and_a_link_sorts_the_table(browser, pages, large_run):
    key = large_run.front[0]["key"]
    script = f"""return {{
        figures: {DRAWN}, keys: {KEYS},
        sorted: Array.from(document.querySelectorAll('[aria-sort="descending"]'), (heading) => heading.dataset.column),
        open: Array.from(document.querySelectorAll('tr.details:not([hidden])'), (row) => row.id)
    }}"""
    found = browser.browse(pages["prune"], script, f"#sort=-validation&key={key}")
    assert found["figures"] == [[name, True] for name in ("pareto", "hypervolume", *["curves"] * 3, "heads", "units")]
    rows = prune_rows.front_table(large_run).rows
    assert found["keys"] == [row["key"] for row in sorted(rows, key=lambda row: -row["validation"])]
    assert (found["sorted"], found["open"]) == (["validation"], [f"details-{key}"])


def test_headings_sort_and_numbers_that_are_missing_stay_last(browser, pages, large_run):
    script = f"""
      const button = document.querySelector('#front th[data-column="speedup"] button');
      button.click(); button.click();
      const latency = document.querySelector('#trials th[data-column="latency"]');
      latency.querySelector("button").click();
      const opener = document.querySelector('tbody.entry .opener button');
      opener.click();
      return {{keys: {KEYS}, trials: latency.ariaSort, open: [opener.ariaExpanded, opener.getAttribute("aria-controls")]}};
    """
    found = browser.browse(pages["prune"], script)
    rows = {row["key"]: row["speedup"] for row in prune_rows.front_table(large_run).rows}
    shown = [rows[key] for key in found["keys"]]
    known = [value for value in shown if value is not None]
    assert 1 < len(known) < len(shown)
    assert known == sorted(known, reverse=True) == shown[: len(known)]
    assert (found["trials"], found["open"]) == ("ascending", ["true", f"details-{found['keys'][0]}"])


def test_other_axes_can_be_chosen(browser, large_run, tmp_path):
    three = dataclasses.replace(large_run, objectives=["error", "latency", "memory"], chance=0.2)
    script = """
      const plot = document.querySelector('[data-figure="pareto"]');
      const choose = (axis, name) => {
        const pick = document.getElementById("axis-" + axis); pick.value = name; pick.dispatchEvent(new Event("change"));
        const line = plot.data.find((trace) => trace.meta.role === "line");
        return [plot.dataset.axes, plot.layout.yaxis.title.text, plot.layout.shapes.map((shape) => [shape.x0, shape.y0]),
                line.visible];
      };
      const before = plot.layout.shapes.map((shape) => shape.y0);
      const front = plot.data.filter((trace) => ["front", "chance"].includes(trace.meta.role));
      return [before, front.map((trace) => trace.y.length), choose("y", "memory"), choose("x", "error")];
    """
    before, counts, memory, error = browser.browse(write_report(three, tmp_path / "report.html"), script)
    assert (before, sum(counts)) == ([0.8], len(three.front))
    assert memory == ["latency,memory", "memory", [], False]
    assert error == ["error,memory", "memory", [[0.8, 0]], False]


def test_other_axes_of_a_comparison_can_be_chosen(browser, tmp_path):
    runs = [run("a", [(0.5, 50.0), (0.4, 60.0)]), run("b", [(0.3, 70.0)], 1)]
    for member in (member for one in runs for member in one.members):
        member["values"]["latency"] = 0.01
    (tmp_path / "compare.html").write_text(compare_html(Comparison(runs, OBJECTIVES)), encoding="utf-8")
    script = """
      const plot = document.querySelector('[data-figure="pareto"]'), pick = document.getElementById("axis-x");
      pick.value = "latency"; pick.dispatchEvent(new Event("change"));
      return [plot.dataset.axes, plot.layout.xaxis.title.text, plot.layout.shapes];
    """
    assert browser.browse(tmp_path / "compare.html", script) == ["latency,error", "latency", []]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["prune", "design", "proxies", "compare", "bench"])
def test_nothing_overflows_and_all_is_drawn(browser, pages, name, width):
    script = f"""
      document.querySelectorAll("details").forEach((details) => {{ details.open = true; }});
      document.querySelectorAll("tbody.entry .row").forEach((row) => row.click());
      return [document.documentElement.scrollWidth, {DRAWN}];
    """

    (needed, figures), picture = browser.browse(pages[name], script, width=width, picture=True)
    assert needed <= width
    assert {"prune": 7, "design": 6, "proxies": 3, "compare": 2, "bench": 7}[name] == len(figures)
    assert all(drawn for figure, drawn in figures if figure != "space")
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000  # a blank page takes a few thousand


def test_a_design_page_turns_in_space_where_it_can(browser, pages, design_run):
    script = f"""
      document.querySelector('#comparison th[data-column="latency_saving"] button').click();
      document.querySelector('#front th[data-column="memory"] button').click();
      const space = document.querySelector('[data-figure="space"]') || {{}};
      const bodies = Array.from(document.getElementById("comparison").tBodies, (body) => [body.rows.length, body.innerText]);
      return {{traces: space.data?.length, canvas: Boolean(space.querySelector?.("canvas")), keys: {KEYS}, bodies: bodies}};
    """
    found = browser.browse(pages["design"], script)
    rows = sorted(design_rows.front_table(design_run).rows, key=lambda row: row["memory"])
    assert found["keys"] == [row["key"] for row in rows]
    (count, _), (_, last) = found["bodies"]
    assert count == len(design_run.baselines)  # the average stays below
    assert last.startswith("average")
    if found["traces"] is None:
        pytest.skip("this chromium has no WebGL")
    assert (found["traces"], found["canvas"]) == (4, True)


def test_a_design_page_without_webgl_shows_all_else(browser, pages):
    before = """
      const real = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind) {
        return kind.includes("webgl") ? null : real.apply(this, arguments);
      };
    """
    script = f"return {{figures: {DRAWN}, said: document.querySelector('[data-figure=\"space\"]').textContent}}"
    found = browser.browse(pages["design"], script, before=before)
    assert "This view needs WebGL" in found["said"]
    assert [name for name, drawn in found["figures"] if not drawn] == ["space"]
