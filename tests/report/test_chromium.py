"""The page in a real browser: scripts run, plots are drawn, tables sort, nothing is complained about."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from secateur.report import design_tables, tables, write_design_report, write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
]
RENDERER = "GL Driver Message|software WebGL|willReadFrequently"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")]


def browse(path, tmp_path, fragment="", *extra):
    """The page's DOM after its scripts ran, without the scripts; asserts that the console is clean."""
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *extra, path.as_uri() + fragment]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    # What a software renderer says of itself is not the page's.
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line and not re.search(RENDERER, line)]
    assert console == []
    return done.stdout.partition('<script type="application/json"')[0]


def with_script(path, script):
    """A copy of the page with a script of the test's at its end."""
    copy = path.with_name("scripted.html")
    text = path.read_text(encoding="utf-8")
    end = text.rindex("</body>")
    copy.write_text(f"{text[:end]}<script>{script}</script>{text[end:]}", encoding="utf-8")
    return copy


@pytest.fixture(scope="module")
def page(large_run, tmp_path_factory):
    return write_report(large_run, tmp_path_factory.mktemp("report") / "report.html")


def keys(dom):
    return re.findall(r'<tbody class="entry[^"]*" id="entry-(\w+)"', dom)


def test_every_figure_is_drawn_and_a_link_sorts_the_table(page, large_run, tmp_path):
    key = large_run.front[0]["key"]
    dom = browse(page, tmp_path, f"#sort=-validation&key={key}", "--dump-dom")
    figures = dom.split('data-figure="')[1:]
    assert len(figures) == 1 + 1 + 3 + 2
    assert all('class="main-svg"' in figure for figure in figures)
    rows = tables.front_table(large_run).rows
    assert keys(dom) == [row["key"] for row in sorted(rows, key=lambda row: -row["validation"])]
    assert re.search(r'aria-sort="descending" data-column="validation"', dom)
    assert len(re.findall(r'<th [^>]*aria-sort="descending"', dom)) == 1
    assert re.search(rf'<tr class="details" id="details-{key}">', dom)
    assert dom.count('<tr class="details"') - dom.count('hidden=""><td colspan') == 1


def test_headings_sort_and_numbers_that_are_missing_stay_last(page, large_run, tmp_path):
    script = """
      const button = document.querySelector('#front th[data-column="polished_test"] button');
      button.click(); button.click();
      document.querySelector('#trials th[data-column="latency"] button').click();
      document.querySelector('tbody.entry .opener button').click();
    """
    dom = browse(with_script(page, script), tmp_path, "", "--dump-dom")
    rows = {row["key"]: row["polished_test"] for row in tables.front_table(large_run).rows}
    shown = [rows[key] for key in keys(dom)]
    polished = [value for value in shown if value is not None]
    assert 1 < len(polished) < len(shown)
    assert polished == sorted(polished, reverse=True) == shown[: len(polished)]
    trials = dom[dom.index('id="trials"') :]
    assert 'aria-sort="ascending" data-column="latency"' in trials
    opened = re.findall(r'aria-expanded="true" aria-controls="details-(\w+)"', dom)
    assert opened == keys(dom)[:1]


def test_other_axes_can_be_chosen(three_objectives, tmp_path):
    page = write_report(three_objectives, tmp_path / "report.html")
    script = """
      const pick = document.getElementById("axis-y"); pick.value = "memory"; pick.dispatchEvent(new Event("change"));
      const plot = document.querySelector('[data-figure="pareto"]');
      document.title = plot.layout.yaxis.title.text + " " + plot.data.find((t) => t.meta.role === "front").y.length;
    """
    dom = browse(with_script(page, script), tmp_path, "", "--dump-dom")
    assert 'data-axes="latency,memory"' in dom
    assert f"<title>memory {len(three_objectives.front)}</title>" in dom


def test_nothing_overflows_on_a_phone_and_a_picture_is_taken(page, tmp_path):
    script = """
      document.querySelectorAll("details").forEach((d) => { d.open = true; });
      document.querySelectorAll("tbody.entry .row").forEach((r) => r.click());
      document.title = document.documentElement.scrollWidth + " of " + document.documentElement.clientWidth;
    """
    scripted = with_script(page, script)
    for size in ("500,900", "1280,900"):
        dom = browse(scripted, tmp_path, "", "--dump-dom", f"--window-size={size}")
        width, room = map(int, re.search(r"<title>(\d+) of (\d+)</title>", dom).groups())
        assert width <= room, size
    shot = tmp_path / "page.png"
    browse(page, tmp_path, "", f"--screenshot={shot}", "--window-size=1280,2000")
    assert shot.read_bytes().startswith(b"\x89PNG")
    assert shot.stat().st_size > 50_000  # a blank page takes a few thousand


@pytest.fixture(scope="module")
def design_page(design_run, tmp_path_factory):
    return write_design_report(design_run, tmp_path_factory.mktemp("design") / "report.html")


def test_a_design_page_turns_in_space_where_it_can(design_page, design_run, tmp_path):
    script = """
      document.querySelector('#comparison th[data-column="latency_saving"] button').click();
      document.querySelector('#front th[data-column="memory"] button').click();
      const space = document.querySelector('[data-figure="space"]');
      document.title = space.data ? space.data.length + " " + Boolean(space.querySelector("canvas")) : "no WebGL";
    """
    dom = browse(with_script(design_page, script), tmp_path, "", "--dump-dom", "--enable-unsafe-swiftshader")
    if "<title>no WebGL</title>" in dom:
        pytest.skip("this chromium has no WebGL")
    figures = dom.split('data-figure="')[1:]
    assert len(figures) == 3 + 1 + 1 + 1
    assert all('class="main-svg"' in figure for figure in figures)
    assert re.search(r"<title>4 true</title>", dom)
    rows = sorted(design_tables.front_table(design_run).rows, key=lambda row: row["memory"])
    assert keys(dom) == [row["key"] for row in rows]
    table = dom[dom.index('id="comparison"') :].partition("</table>")[0]
    first, last = table.split("<tbody")[1:]
    assert first.count("<tr>") == len(design_run.baselines)  # the average stays below
    assert "average" in last


def test_a_design_page_without_webgl_shows_all_else(design_page, design_run, tmp_path):
    script = """
      document.querySelectorAll("details").forEach((d) => { d.open = true; });
      document.querySelectorAll("tbody.entry .row").forEach((r) => r.click());
      document.title = document.documentElement.scrollWidth + " of " + document.documentElement.clientWidth;
    """
    scripted = with_script(design_page, script)
    dom = browse(scripted, tmp_path, "", "--dump-dom", "--disable-3d-apis", "--window-size=500,900")
    width, room = map(int, re.search(r"<title>(\d+) of (\d+)</title>", dom).groups())
    assert width <= room
    space, *others = sorted(dom.split('data-figure="')[1:], key=lambda figure: not figure.startswith("space"))
    assert "This view needs WebGL" in space
    assert all('class="main-svg"' in figure for figure in others)
