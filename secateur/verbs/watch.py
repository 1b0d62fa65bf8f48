"""`secateur watch`: a page in the browser that follows a run."""

from __future__ import annotations

from typing import Annotated

import typer

from secateur.errors import StudyError
from secateur.paths import checked
from secateur.report.terminal import echo
from secateur.runs.folder import open_run
from secateur.verbs.signature import Folder


def watch(
    run: Folder,
    *,
    port: Annotated[int, typer.Option(help="The port on this machine; 0: any free one.", min=0, max=65535)] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> str:
    """Follow a run in the browser: its stage, time left, loss and trials, and the report as it grows.

    The page is only reachable from this machine (127.0.0.1). It reads the run's folder and changes nothing. Ctrl-C stops it.
    """
    from secateur.runs.watching import Watcher

    run = checked(run, StudyError)
    if not (run / "lock").is_file():  # a run that has just begun has no more than this
        open_run(run).close()
    with Watcher(run, port) as server:
        echo(f"{run} is at {server.url} · Ctrl-C stops it", error=True)
        if open_:
            import webbrowser

            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return ""
    return ""
