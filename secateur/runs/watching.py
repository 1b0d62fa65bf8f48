"""A page that follows a run as it goes: served on this machine only, read from the run's folder, written nowhere."""

from __future__ import annotations

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

from secateur.architecture import digest
from secateur.errors import SecateurError, StudyError, one_line
from secateur.report import render
from secateur.runs.folder import open_run
from secateur.runs.reporting import report_of
from secateur.runs.settings import FILE, STUDY
from secateur.runs.state import State, state_of

HOST = "127.0.0.1"
#: Other sites may not embed the page, and it may fetch nothing but from here.
_RULES = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-src 'self'"


class Watched:
    """A run's folder, read again where something has changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run: Any = None
        self._opened: tuple[Any, ...] = ()
        self._rendered = ("", b"")
        self._lock = threading.Lock()

    def status(self) -> dict[str, Any]:
        """Where the run is, and the version of its report: empty where there is nothing to report yet."""
        with self._lock:
            try:
                run = self._current()
                state, version = state_of(run), self._version(run)
            except SecateurError as error:  # not begun, or just being written
                state, version = State("starting", text=one_line(error)), ""
        return {"folder": self.folder.name, "version": version, **state.as_dict()}

    def report(self) -> tuple[str, bytes]:
        """The version of the report and the page. Raises StudyError where there is nothing to report yet."""
        with self._lock:
            run = self._current()
            version = self._version(run)
            if not version:
                raise StudyError("there is no result yet.")
            if self._rendered[0] != version:
                self._rendered = version, render(report_of(run).data()).encode()
            return self._rendered

    def _current(self) -> Any:
        """The run, opened anew where its folder was made anew or its settings were changed."""
        files = [path.stat() if path.exists() else None for path in (self.folder / FILE, self.folder / STUDY)]
        opened = (files[0] and (files[0].st_ino, files[0].st_mtime_ns), files[1] and files[1].st_ino)
        if self._run is None or opened != self._opened:
            self.close()
            self._run, self._opened = open_run(self.folder), opened
        return self._run

    @staticmethod
    def _version(run: Any) -> str:
        """What changes whenever the report would say something else; empty before the first result."""
        trials, stages, store = run.trials, run.store.stages(), run.store
        if not any(t.complete for t in trials) or not len(run.front):
            return ""
        facts = [store.get_meta(name) for name in ("notes", "tests", "measured", "unpruned_test", "baselines")]
        ended = [(t.number, str(t.status)) for t in trials]
        return digest(json.dumps([ended, [(s.name, s.status, s.finished) for s in stages], store.curves(), facts]))

    def close(self) -> None:
        if self._run is not None:
            self._run.close()
        self._run = None


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD, to a browser on this machine."""

    server: Watcher
    server_version, sys_version = "secateur", ""

    def do_GET(self) -> None:
        # A page of another site whose name is made to point here must not read the run.
        if self.headers.get("Host") not in self.server.names:
            return self._answer(b"", "text/plain", status=HTTPStatus.FORBIDDEN)
        place = self.path.partition("?")[0]
        if place == "/":
            return self._answer(_shell(), "text/html; charset=utf-8")
        if place == "/status":
            return self._answer(json.dumps(self.server.watched.status()).encode(), "application/json")
        if place == "/report":
            return self._report()
        self._answer(b"", "text/plain", status=HTTPStatus.NOT_FOUND)

    def _report(self) -> None:
        try:
            version, page = self.server.watched.report()
        except Exception as error:
            status = HTTPStatus.NOT_FOUND if isinstance(error, SecateurError) else HTTPStatus.INTERNAL_SERVER_ERROR
            return self._answer(one_line(error).encode(), "text/plain; charset=utf-8", status=status)
        self._answer(page, "text/html; charset=utf-8", version, rules=None)  # the page brings its own

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def _answer(
        self, body: bytes, kind: str, version: str = "", rules: str | None = _RULES, status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        tag = f'"{version or digest(body.decode())}"'
        if status == HTTPStatus.OK and self.headers.get("If-None-Match") == tag:
            status, body = HTTPStatus.NOT_MODIFIED, b""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("ETag", tag)
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "SAMEORIGIN")
        if rules is not None:
            self.send_header("Content-Security-Policy", rules)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nothing is logged."""


def _shell() -> bytes:
    return resources.files("secateur.report").joinpath("templates", "watch.html").read_bytes()


class Watcher(ThreadingHTTPServer):
    """Serves one run's page on the loopback address; `port` 0: any that is free. Raises StudyError where none is."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.watched = Watched(folder)
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            raise StudyError(f"port {port} cannot be used: {one_line(error)}. Give another with --port.") from error
        self.names = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is no news."""

    def server_close(self) -> None:
        super().server_close()
        self.watched.close()
