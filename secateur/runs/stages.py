"""What goes through the stages of a run, of whatever verb: its store, journal, log and progress, and notes for the report."""

from __future__ import annotations

from typing import Any

from secateur.runs.folder import LOG, RunFolder
from secateur.runs.progress import Progress
from secateur.study import Journal, RunLog


class Staged:
    """A run on its way."""

    def __init__(self, run: RunFolder, progress: Progress) -> None:
        self.c: Any = run.configuration
        self.store = run.store
        self.journal = Journal(run.store)
        self.progress = progress
        self.log = RunLog(run.folder / LOG)

    def _note(self, text: str) -> None:
        """Something the report and the user should be told."""
        notes = list(self.store.get_meta("notes", []))
        if text not in notes:
            self.store.set_meta("notes", [*notes, text])
            self.progress.say(text)
