"""The store: one row per trial, written when it is asked and when it is told, in SQLite or PostgreSQL.

A PostgreSQL URL holds one study; `?options=-csearch_path%3Dname` gives each its own schema.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from secateur.architecture import Architecture
from secateur.errors import StudyError
from secateur.search.base import ASKED, Proposal
from secateur.study.database import Database, damaged
from secateur.study.protocol import RUNNING, STATUSES, CacheEntry, Extra, Trial
from secateur.study.schema import VERSION, tables

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

Numbers = Mapping[str, float]
Details = Mapping[str, float | str]


class Store:
    """A study on disk. Every method is one transaction: it happens whole or not at all, also under kill -9."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def create(cls, where: str | Path, settings: Mapping[str, Any] | None = None) -> Store:
        """A new study in a file or at a database URL; `settings` are plain JSON. Raises StudyError where something is there."""
        return cls(Database.create(where, {"schema": str(VERSION), "settings": json.dumps(dict(settings or {}))}))

    @classmethod
    def open(cls, where: str | Path) -> Store:
        """An existing study. Raises StudyError where there is none, or it is damaged; the file is then left as it is."""
        return cls(Database.open(where))

    @property
    def name(self) -> str:
        """The file or URL, for messages."""
        return self.database.name

    @property
    def settings(self) -> dict[str, Any]:
        """What the study was created with."""
        return dict(self.get_meta("settings", {}))

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # Trials

    def begin(self, proposal: Proposal) -> int:
        """Write that a proposal is being evaluated; the new row's number."""
        with self.database.write() as connection:
            return _insert(connection, proposal.architecture, RUNNING, {}, {}, ASKED, proposal.budget, proposal=proposal.id)

    def restart(self, number: int) -> None:
        """Note that a running trial is evaluated anew, from now on."""
        from sqlalchemy import update

        trials = tables().trials
        with self.database.write() as connection:
            connection.execute(update(trials).where(trials.c.number == number).values(started=time.time()))

    def finish(
        self,
        number: int,
        status: str,
        values: Numbers | None = None,
        details: Details | None = None,
        reason: str | None = None,
        *,
        extras: Sequence[Extra] = (),
        cache: Sequence[CacheEntry] = (),
    ) -> list[Trial]:
        """End a running trial and store what came with it, in one transaction: the ended trial, then the extras, in told order.

        Raises StudyError where the trial is not running.
        """
        from sqlalchemy import func, select, update

        if status not in STATUSES or status == RUNNING:
            raise ValueError(f"a trial ends as {', '.join(STATUSES[1:])}, got `{status}`")
        trials = tables().trials
        with self.database.write() as connection:
            told = 1 + int(connection.execute(select(func.coalesce(func.max(trials.c.told), -1))).scalar_one())
            ended = connection.execute(
                update(trials)
                .where(trials.c.number == number, trials.c.status == RUNNING)
                .values(
                    status=status,
                    values=_numbers(values or {}),
                    details=_details(details or {}),
                    reason=_plain(reason),
                    finished=time.time(),
                    told=told,
                )
            )
            if ended.rowcount != 1:
                raise StudyError(
                    f"`{self.name}`: trial {number} is not running, so it cannot be ended. Is another process at work?"
                )
            for place, extra in enumerate(extras, start=told + 1):
                _insert(
                    connection,
                    extra.architecture,
                    "complete",
                    extra.values,
                    extra.details,
                    extra.origin,
                    extra.budget,
                    told=place,
                )
            _put(connection, cache)
            rows = connection.execute(select(trials).where(trials.c.told >= told).order_by(trials.c.told)).all()
        return self._decoded(rows)

    def add(
        self,
        architecture: Architecture,
        status: str,
        values: Numbers,
        origin: str,
        details: Details | None = None,
        *,
        reason: str | None = None,
        told: bool = False,
    ) -> int:
        """Store a result that nobody asked for (imported, polished); the new row's number.

        With `told` a resumed searcher is told of it, in its place; without, no searcher ever is.
        """
        from sqlalchemy import func, select

        if status not in STATUSES or status == RUNNING:
            raise ValueError(f"a result is {', '.join(STATUSES[1:])}, got `{status}`")
        trials = tables().trials
        with self.database.write() as connection:
            place = None
            if told:
                place = 1 + int(connection.execute(select(func.coalesce(func.max(trials.c.told), -1))).scalar_one())
            return _insert(connection, architecture, status, values, details or {}, origin, None, told=place, reason=reason)

    def trials(self) -> list[Trial]:
        """All trials in the order of their numbers."""
        from sqlalchemy import select

        trials = tables().trials
        with self.database.read() as connection:
            rows = connection.execute(select(trials).order_by(trials.c.number)).all()
        return self._decoded(rows)

    def running(self) -> list[Trial]:
        """The trials that were begun and have not ended, in the order they were asked."""
        return [t for t in self.trials() if t.status == RUNNING]

    def told(self) -> list[Trial]:
        """The trials that the searcher was told of, in the order it was."""
        return sorted((t for t in self.trials() if t.told is not None), key=lambda t: t.told or 0)

    def _decoded(self, rows: Sequence[Row[Any]]) -> list[Trial]:
        try:
            return [
                Trial(
                    row.number,
                    row.proposal,
                    Architecture.from_json(row.architecture),
                    row.status,
                    json.loads(row._mapping["values"]),
                    json.loads(row.details),
                    row.reason,
                    row.origin,
                    row.budget,
                    row.started,
                    row.finished,
                    row.told,
                )
                for row in rows
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(self.name, error) from error

    # The cache

    def cached(self, key: str, fingerprint: str) -> tuple[dict[str, float], dict[str, float | str]] | None:
        """The values and details of an architecture under an estimator's fingerprint, or None."""
        from sqlalchemy import select

        cache = tables().cache
        with self.database.read() as connection:
            query = select(cache.c["values"], cache.c.details)
            row = connection.execute(query.where(cache.c.key == key, cache.c.fingerprint == fingerprint)).first()
        if row is None:
            return None
        return self._json(row[0]), self._json(row[1])

    def put_cache(self, key: str, fingerprint: str, values: Numbers, details: Details | None = None) -> None:
        """Keep what an estimator found; an older entry of the same key and fingerprint is replaced."""
        with self.database.write() as connection:
            _put(connection, [CacheEntry(key, fingerprint, values, details or {})])

    # Facts about the study, and curves

    def get_meta(self, key: str, default: Any = None) -> Any:
        """A fact about the study: any JSON value."""
        from sqlalchemy import select

        meta = tables().meta
        with self.database.read() as connection:
            text = connection.execute(select(meta.c.value).where(meta.c.key == key)).scalar()
        return default if text is None else self._json(text)

    def set_meta(self, key: str, value: Any) -> None:
        """Keep a fact about the study: any JSON value."""
        from sqlalchemy import delete, insert

        meta, text = tables().meta, json.dumps(value)
        with self.database.write() as connection:
            connection.execute(delete(meta).where(meta.c.key == key))
            connection.execute(insert(meta).values(key=key, value=text))

    def log_curve(self, name: str, step: int, values: Numbers) -> None:
        """A point of a curve (a training loss, say). A step that is logged again, after a resume, replaces the old one."""
        from sqlalchemy import delete, insert

        curves = tables().curves
        with self.database.write() as connection:
            connection.execute(delete(curves).where(curves.c.name == name, curves.c.step == step))
            connection.execute(insert(curves).values({"name": name, "step": step, "values": _numbers(values)}))

    def curve(self, name: str) -> list[tuple[int, dict[str, float]]]:
        """The points of a curve as (step, values), by step."""
        from sqlalchemy import select

        curves = tables().curves
        with self.database.read() as connection:
            query = select(curves.c.step, curves.c["values"]).where(curves.c.name == name).order_by(curves.c.step)
            return [(step, self._json(text)) for step, text in connection.execute(query)]

    def curves(self) -> list[str]:
        """The names of the curves there are."""
        from sqlalchemy import select

        name = tables().curves.c.name
        with self.database.read() as connection:
            return list(connection.execute(select(name).distinct().order_by(name)).scalars())

    def _json(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise damaged(self.name, error) from error


def _insert(
    connection: Connection,
    architecture: Architecture,
    status: str,
    values: Numbers,
    details: Details,
    origin: str,
    budget: float | None,
    *,
    proposal: int | None = None,
    told: int | None = None,
    reason: str | None = None,
) -> int:
    from sqlalchemy import insert

    now = time.time()
    row = {
        "proposal": proposal,
        "told": told,
        "key": architecture.key,
        "architecture": architecture.to_json(),
        "status": status,
        "values": _numbers(values),
        "details": _details(details),
        "reason": _plain(reason),
        "origin": origin,
        "budget": budget,
        "started": now,
        "finished": None if status == RUNNING else now,
    }
    key = connection.execute(insert(tables().trials), row).inserted_primary_key
    assert key is not None
    return int(key[0])


def _put(connection: Connection, entries: Sequence[CacheEntry]) -> None:
    from sqlalchemy import bindparam, delete, insert

    rows = {
        (e.key, e.fingerprint): {
            "key": e.key,
            "fingerprint": e.fingerprint,
            "values": _numbers(e.values),
            "details": _details(e.details),
        }
        for e in entries
    }
    if not rows:
        return
    cache = tables().cache
    old = delete(cache).where(cache.c.key == bindparam("old_key"), cache.c.fingerprint == bindparam("old_fingerprint"))
    connection.execute(old, [{"old_key": key, "old_fingerprint": name} for key, name in rows])
    connection.execute(insert(cache), list(rows.values()))


def _numbers(values: Numbers) -> str:
    # float(): numpy's and torch's scalars are no JSON, and a resumed study must see what the first one saw
    return json.dumps({name: float(value) for name, value in values.items()})


def _details(details: Details) -> str:
    return json.dumps({name: value if isinstance(value, str) else float(value) for name, value in details.items()})


def _plain(text: str | None) -> str | None:
    """Text that every database takes: no NUL, no half surrogates."""
    return None if text is None else text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
