"""Opening a run's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from secateur.errors import ConfigurationError, StudyError
from secateur.runs.design.report import DesignReport
from secateur.runs.design.run import DesignRun
from secateur.runs.folder import open_run, parse_under
from secateur.runs.prune.run import PruneRun


def test_a_folder_knows_what_made_it(pruned: Path, designed: Path) -> None:
    assert isinstance(open_run(pruned), PruneRun)
    assert isinstance(open_run(str(designed)), DesignRun)


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    for opened in (open_run, PruneRun):
        with pytest.raises(StudyError, match="there is no run folder"):
            opened(tmp_path / "none")
    with pytest.raises(StudyError, match="is not a run"):
        open_run(tmp_path)


def test_bounds_as_the_command_line_has_them() -> None:
    assert parse_under(None) == {}
    found = parse_under(["body_parameters=50%", "latency<=20ms", " memory = 1MB"])
    assert found == {"body_parameters": "50%", "latency": "20ms", "memory": "1MB"}
    assert parse_under(["speedup=3x"]) == {"speedup": "3x"}
    with pytest.raises(ConfigurationError, match="is not a speed-up"):
        parse_under(["speedup=fast"])
    with pytest.raises(ConfigurationError, match="not an upper bound"):
        parse_under(["latency>=20ms"])
    with pytest.raises(ConfigurationError, match="gives no bound"):
        parse_under(["latency"])
    with pytest.raises(ConfigurationError, match="is not a bound"):
        parse_under(["latency=fast"])


def test_one_of_key_and_bound_says_which_network(pruned: Path) -> None:
    run = open_run(pruned)
    best = run.front.best(under={"body_parameters": "50%"})
    assert run.choose(None, ["body_parameters=50%"], "export", "…") == best == run.choose(best.key, None, "export", "…")
    for key, under in ((None, None), (None, []), (best.key, ["body_parameters=50%"])):
        with pytest.raises(ConfigurationError, match="say which sub-network to export: either --under x=1 or --key"):
            run.choose(key, under, "export", "x=1")


def test_a_run_that_cannot_be_shown_says_why_and_shows_no_markup(designed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> str:
        raise StudyError("its <b>folder</b> is gone")

    for name in ("html", "__str__"):
        monkeypatch.setattr(DesignReport, name, gone)
    run = open_run(designed)
    assert "its <b>folder</b> is gone" in repr(run)
    assert "its &lt;b&gt;folder&lt;/b&gt; is gone" in run._repr_html_()
