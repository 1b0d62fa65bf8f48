"""The journal: which stages of a run are done. Resume starts at the first that is not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from secateur.errors import StudyError
from secateur.study.schema import tables
from secateur.study.store import Store

#: The stages of a pruning run, in order.
STAGES = ("warm-up", "order", "train", "search", "polish", "report")


@dataclass
class Entry:
    """A stage under way: put into `details` (plain JSON) what the report should show of it."""

    name: str
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """A stage in the journal: running (or killed), done, or stopped with a reason. `seconds` are those of its last attempt."""

    name: str
    status: str
    started: float
    finished: float | None
    details: dict[str, Any]
    reason: str | None

    @property
    def seconds(self) -> float | None:
        return None if self.finished is None else self.finished - self.started


class Journal:
    """The stages of a run, kept in its store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def done(self, stage: str) -> bool:
        """Whether the stage has ended well."""
        return any(row.name == stage and row.status == "done" for row in self.rows())

    def first_unfinished(self, stages: Sequence[str] = STAGES) -> str | None:
        """The first of the stages that is not done, or None."""
        done = {row.name for row in self.rows() if row.status == "done"}
        return next((stage for stage in stages if stage not in done), None)

    @contextmanager
    def stage(self, name: str) -> Iterator[Entry]:
        """Run a stage: done when the block ends, stopped with the reason when it raises. A stage can be run again."""
        entry = Entry(name)
        started = time.time()
        self._write(entry, "running", started, None, None)
        try:
            yield entry
        except BaseException as error:
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
            with suppress(StudyError):  # on a full disk the reason of the stop is the error to show, not this one
                self._write(entry, "stopped", started, time.time(), reason)
            raise
        self._write(entry, "done", started, time.time(), None)

    def rows(self) -> list[Stage]:
        """The stages begun so far, in the order they first began."""
        from sqlalchemy import select

        stages = tables().stages
        with self._store.database.read() as connection:
            rows = connection.execute(select(stages).order_by(stages.c.number)).all()
        return [Stage(r.name, r.status, r.started, r.finished, json.loads(r.details), r.reason) for r in rows]

    def _write(self, entry: Entry, status: str, started: float, finished: float | None, reason: str | None) -> None:
        from sqlalchemy import insert, update

        stages = tables().stages
        row: dict[str, Any] = {"status": status, "started": started, "finished": finished, "details": json.dumps(entry.details)}
        row["reason"] = None if reason is None else reason.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
        with self._store.database.write() as connection:
            changed = connection.execute(update(stages).where(stages.c.name == entry.name).values(row))
            if changed.rowcount == 0:
                connection.execute(insert(stages).values({**row, "name": entry.name}))
