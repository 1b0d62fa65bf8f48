"""A run is followed from outside: before it has a result, while it goes, stopped, resumed and finished. Nothing is written."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.errors import Stopped, StudyError
from secateur.runs import progress, stages, watching
from secateur.runs.folder import open_run
from secateur.runs.progress import Progress
from secateur.runs.starting import go_on
from secateur.runs.state import state_of
from secateur.runs.watching import Watcher
from secateur.study import RunLock


class Browser:
    """Asks a watcher by HTTP."""

    def __init__(self, server: Watcher) -> None:
        self.server = server

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("/status")[2])
        return found


@contextmanager
def watched(folder: Path) -> Iterator[Browser]:
    with Watcher(folder) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Browser(server)
        finally:
            server.shutdown()
            thread.join()


def contents(folder: Path) -> dict[str, str]:
    # what SQLite keeps beside a database while somebody has it open comes and goes
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("job", ["pruned", "designed"])
def test_a_finished_run_is_shown_and_left_alone(job, request, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(request.getfixturevalue(job), folder)
    before = contents(folder)
    with watched(folder) as browser:
        assert browser.server.server_address[0] == "127.0.0.1"
        now = browser.status()
        assert (now["status"], now["folder"], now["left"]) == ("finished", "run", None)
        assert now["trials"] == now["wanted"] > 0
        assert {row["status"] for row in now["stages"]} == {"done"}
        code, headers, shell = browser.ask("/")
        assert code == 200
        assert b"fetch(" in shell
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        code, headers, page = browser.ask("/report?anything")
        assert code == 200
        assert b"Pareto front" in page
        assert headers["ETag"] == f'"{now["version"]}"'
        assert browser.ask("/report", **{"If-None-Match": headers["ETag"]})[::2] == (304, b"")
        assert browser.ask("/report", "HEAD")[::2] == (200, b"")
        with RunLock(folder):  # whoever wants to resume it can
            assert browser.status()["version"] == now["version"]
    (folder / "lock").unlink()
    passing = ("lock", "study.db-shm", "study.db-wal")  # SQLite's own, gone when the last reader goes
    assert contents(folder) == {path: sum_ for path, sum_ in before.items() if not path.endswith(passing)}


def test_only_a_browser_on_this_machine_is_answered(pruned):
    with watched(pruned) as browser:
        for host in ("evil.example", "evil.example:80", f"127.0.0.1.evil.example:{browser.server.server_port}", ""):
            for path in ("/", "/status", "/report"):
                assert browser.ask(path, Host=host)[::2] == (403, b"")
        assert browser.ask("/", Host=f"localhost:{browser.server.server_port}")[0] == 200
        assert browser.ask("/../config.yaml")[0] == browser.ask("/study.db")[0] == 404
        assert browser.ask("/status", "POST")[0] == 501


def test_a_run_is_followed_from_its_first_moment_to_its_end(tmp_path, quick_prune, brief, monkeypatch):
    folder, seen = tmp_path / "run", []
    folder.mkdir()
    keep = stages.Work._publish

    def look(work: Any, moment: Any) -> None:
        keep(work, moment)
        seen.append(browser.status())

    monkeypatch.setattr(progress, "PUBLISHED", 0.0)
    monkeypatch.setattr(stages.Work, "_publish", look)
    with watched(folder) as browser:
        now = browser.status()
        assert (now["status"], now["version"]) == ("starting", "")
        assert browser.ask("/report")[0] == 404
        with monkeypatch.context() as patch:
            patch.setattr("secateur.runs.prune.stages.PruneWork.polish", lambda self: interrupted())
            with pytest.raises(Stopped):
                quick_prune(folder)
        training = [s for s in seen if s["stage"] == "train"]
        assert {s["status"] for s in seen} == {"running"}
        assert training[-1]["text"].startswith("training (full): 100 % · loss ")
        assert training[-1]["left"].startswith("about ")
        assert len(training[-1]["losses"]) > 3
        assert training[-1]["version"] == ""
        searching = [s for s in seen if s["stage"] == "search"]
        assert [s["trials"] for s in searching] == [1, 2, 3, 4, 5, 6]
        assert len({s["version"] for s in searching}) == 6  # a new report with each result
        stopped = browser.status()
        assert (stopped["status"], stopped["stage"], stopped["text"]) == ("stopped", "polish", "interrupted")
        assert browser.ask("/report")[0] == 200
        go_on(folder, Progress(False)).close()
        finished = browser.status()
        assert (finished["status"], finished["text"]) == ("finished", "")
        assert finished["version"] != stopped["version"]
        assert browser.ask("/report")[0] == 200


def interrupted() -> None:
    raise KeyboardInterrupt


def test_a_killed_run_is_no_longer_running(tmp_path, pruned):
    shutil.copytree(pruned, tmp_path / "run")
    run = open_run(tmp_path / "run")
    row = next(row for row in run.store.stages() if row.name == "report")
    run.store.write_stage(type(row)(row.name, "running", row.started))
    with RunLock(tmp_path / "run"):
        assert state_of(run).status == "running"
        assert state_of(run).process == os.getpid()
    assert state_of(run).status == "stopped"  # the process lives on, but has let go of the lock
    (tmp_path / "run" / "lock").write_text("4194305")  # no process has such a number
    assert state_of(run).status == "stopped"
    moment = {"title": "t", "text": "5 of 9", "run_left": 60.0, "losses": [], "at": row.started + 10**9, "host": "another"}
    run.store.set_meta("progress", moment)
    assert state_of(run).status == "running"  # seen from another machine: there is news
    assert state_of(run).text == "t: 5 of 9"


def test_the_command(pruned, tmp_path, monkeypatch):
    with watched(pruned) as browser, pytest.raises(StudyError, match=r"port \d+ cannot be used: .* Give another with --port"):
        Watcher(pruned, browser.server.server_port)
    monkeypatch.setattr(watching.Watcher, "serve_forever", lambda self: interrupted())
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    done = CliRunner().invoke(app, ["watch", str(pruned), "--open"])
    assert done.exit_code == 0
    (url,) = opened
    assert f"{pruned} is at {url} · Ctrl-C stops it" in done.output
    assert CliRunner().invoke(app, ["watch", str(tmp_path)]).exit_code == 2  # no run
