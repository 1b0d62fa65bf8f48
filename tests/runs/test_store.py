"""`--store`: the study of a run in a database of the user's."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.errors import BoundError, ConfigurationError, Stopped, StudyError
from secateur.runs.design.report import DesignReport
from secateur.runs.folder import open_run
from secateur.study.sql_store import SqlStore
from secateur.verbs.front import front
from secateur.verbs.resume import resume

pytestmark = [pytest.mark.usefixtures("brief"), pytest.mark.slow]

COUNTED: dict[str, Any] = {"objectives": ["decoder_parameters", "memory", "parameters"], "trials": 12}


def story(folder: Path) -> Any:
    run = open_run(folder)
    found = [(t.id, t.key, str(t.status), dict(t.values), t.origin, t.told) for t in run.trials]
    run.close()
    return found


def runs_stops_and_resumes(store: str, quick_design: Any, folder: Path) -> None:
    """A run with its study at a URL, stopped and resumed, equals one with a file."""
    real, calls = SqlStore.known, 0

    def known(self: SqlStore, key: str) -> Any:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return real(self, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlStore, "known", known)
        with pytest.raises(Stopped):
            quick_design(folder / "there", store=store, **COUNTED)
    assert not (folder / "there" / "study.db").exists()
    resume(folder / "there", progress=False).close()
    quick_design(folder / "here", **COUNTED).close()
    assert story(folder / "there") == story(folder / "here")
    assert [m.key for m in front(folder / "there").members] == [m.key for m in front(folder / "here").members]
    assert CliRunner().invoke(app, ["front", str(folder / "there")]).exit_code == 0
    page = DesignReport(open_run(folder / "there")).write().read_text(encoding="utf-8")
    assert store not in page  # it may hold a password
    with pytest.raises(StudyError, match="already"):
        quick_design(folder / "other", store=store, **COUNTED)
    assert not (folder / "other").exists()


def test_sqlite_by_url(quick_design: Any, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    runs_stops_and_resumes(f"sqlite:///{tmp_path / 'elsewhere' / 'x.db'}", quick_design, tmp_path)


def test_postgresql(postgres: str, quick_design: Any, tmp_path: Path) -> None:
    runs_stops_and_resumes(postgres, quick_design, tmp_path)


def test_a_study_that_ends_with_the_process_is_refused(quick_design: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="a database that outlives the run"):
        quick_design(tmp_path / "run", store="memory://", **COUNTED)
    assert not (tmp_path / "run").exists()


def test_a_refused_start_leaves_no_study_behind(quick_design: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    with pytest.raises(BoundError, match="nothing in the space"):
        quick_design(tmp_path / "run", store=url, **{**COUNTED, "bounds": ["parameters<=1"]})
    assert list(tmp_path.iterdir()) == []
    quick_design(tmp_path / "run", store=url, **COUNTED)
    assert (tmp_path / "run" / "config.yaml").stat().st_mode & 0o077 == 0  # the URL may hold a password


def test_tables_of_something_else_are_left_alone(quick_design: Any, tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as application:
        application.execute("CREATE TABLE cache (mine TEXT)")
        application.commit()
    with pytest.raises(StudyError, match="a table `cache` that is not Secateur's"):
        quick_design(tmp_path / "run", store=f"sqlite+pysqlite:///{path}", **COUNTED)
    with closing(sqlite3.connect(path)) as application:
        assert application.execute("SELECT name FROM sqlite_master").fetchall() == [("cache",)]
    assert not (tmp_path / "run").exists()


def test_a_store_in_memory_is_no_file(quick_design: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="outlives the run"):
        quick_design(tmp_path / "run", store="sqlite:///:memory:", **COUNTED)


@pytest.mark.parametrize("url", ["postgresql://u:secret@h:abc/db", "u:secret@h/db", "nothing://u:secret@h/db"])
def test_a_wrong_url_is_said_without_its_password(quick_design: Any, tmp_path: Path, url: str) -> None:
    with pytest.raises((StudyError, ConfigurationError)) as caught:
        quick_design(tmp_path / "run", store=url, **COUNTED)
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
