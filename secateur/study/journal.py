"""The journal: which stages of a run are done. Resume starts at the first that is not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from secateur.errors import StudyError
from secateur.study.store import BEFORE, StageRow, Store


class Journal:
    """The stages of a run, kept in its store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def done(self, stage: str) -> bool:
        """Whether the stage has ended well."""
        return any(row.name == stage and row.status == "done" for row in self.rows())

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Any]]:
        """Run a stage: done when the block ends, stopped with the reason when it raises. A stage can be run again.

        Gives the stage's details: put into them (plain JSON) what the report should show of it.
        """
        before = sum(row.spent for row in self.rows() if row.name == name and row.status != "done")
        details: dict[str, Any] = {BEFORE: before} if before else {}
        started = time.time()
        self._store.write_stage(StageRow(name, "running", started, details=details))
        try:
            yield details
        except BaseException as error:
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
            with suppress(StudyError):  # on a full disk the reason of the stop is the error to show, not this one
                self._store.write_stage(StageRow(name, "stopped", started, time.time(), details, reason))
            raise
        self._store.write_stage(StageRow(name, "done", started, time.time(), details))

    def rows(self) -> list[StageRow]:
        """The stages begun so far, in the order they first began."""
        return self._store.stages()
