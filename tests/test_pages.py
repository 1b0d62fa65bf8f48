"""The pages as a site: every page is in the menu, no link is broken, nothing is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent


def pages_of(nav: Any) -> Iterator[str]:
    for entry in nav:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else pages_of(value)


def test_every_page_is_in_the_menu() -> None:
    nav = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)["nav"]
    folders = [page for name in ("docs", "recipes", "benchmarks") for page in (ROOT / name).rglob("*.md")]
    there = {page.relative_to(ROOT).as_posix() for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *folders)}
    assert sorted(pages_of(nav)) == sorted(there | {"docs/api.md"})  # which is written when the site is built


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_nothing_comes_from_elsewhere(site: Path) -> None:
    loaded = (
        r"""(?:<(?:script|img|iframe)[^>]+src|<link[^>]+rel="(?:stylesheet|preconnect|icon)"[^>]+href)=["']?(https?:[^"' >]+)"""
    )
    for page in site.rglob("*.html"):
        assert re.findall(loaded, page.read_text(encoding="utf-8")) == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?https?:", style.read_text(encoding="utf-8")), style


@pytest.mark.slow
def test_the_reference_names_every_option_and_class(site: Path) -> None:
    text = (site / "docs" / "api.html").read_text(encoding="utf-8")
    for said in ("--squared-temperature", "--most-measured", "--help-all", "PruneRun", "DesignMember", "hypervolume"):
        assert (said in text) is (said != "--help-all"), said
    assert (site / "search" / "search_index.js").is_file()  # the search needs no server
