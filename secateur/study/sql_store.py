"""A study in a database: SQLite or PostgreSQL.

A PostgreSQL URL holds one study; `?options=-csearch_path%3Dname` gives each its own schema.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.architecture import Architecture
from secateur.errors import one_line
from secateur.estimators.together import CacheEntry
from secateur.settings import fits, shown
from secateur.study.database import PATIENCE, Database, damaged
from secateur.study.facts import FACTS
from secateur.study.schema import VERSION, schema
from secateur.study.shared_store import Lease, News, SharedStore
from secateur.study.sql_leases import claimed, in_turn, leases, lent, points, released, renewed
from secateur.study.store import Numbers, StageRow, must_have_ended, not_running
from secateur.trial import ORIGINS, Status, Trial

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

Details = Mapping[str, float | str]
_NUMBERS, _DETAILS = dict[str, float], dict[str, float | str]
#: The types of the columns that are no JSON.
_STAGE = {"name": str, "status": str, "started": float, "finished": float | None, "reason": str | None}
_TRIAL = {
    "number": int,
    "proposal": int | None,
    "told": int | None,
    "status": str,
    "reason": str | None,
    "origin": str,
    "budget": float | None,
    "continues": int | None,
    "seconds": float | None,
    "started": float,
    "finished": float | None,
}


class SqlStore(SharedStore):
    """A study on disk or on a server. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.name = database.name

    @classmethod
    def create(cls, where: str | Path, settings: Mapping[str, Any] | None = None, *, patience: float = PATIENCE) -> SqlStore:
        """A new study in a file or at a database URL. Raises StudyError where something is there. A server that goes away
        later is waited for as long as `patience` says, in seconds."""
        meta = {"schema": str(VERSION), "settings": json.dumps(dict(settings or {}))}
        return cls(Database.create(where, meta, patience))

    @classmethod
    def open(cls, where: str | Path, *, patience: float = PATIENCE) -> SqlStore:
        """An existing study. Raises StudyError where there is none, or it is damaged; the file is then left as it is."""
        return cls(Database.open(where, patience))

    def discard(self) -> None:
        self.database.discard()

    def close(self) -> None:
        self.database.close()

    # Trials

    def begin(self, trial: Trial) -> Trial:
        begun = replace(trial, status=Status.RUNNING, started=time.time())
        return replace(begun, number=self.database.write(lambda connection: _insert(connection, begun)))

    def restart(self, trial: Trial) -> None:
        from sqlalchemy import update

        trials = schema().trials
        again = update(trials).where(trials.c.number == trial.number).values(started=time.time())
        self.database.write(lambda connection: connection.execute(again))

    def finish(self, trial: Trial, extras: Sequence[Trial] = (), cache: Sequence[CacheEntry] = ()) -> list[Trial]:
        return self._end(trial, extras, cache, None)

    def _end(self, trial: Trial, extras: Sequence[Trial], cache: Sequence[CacheEntry], after: int | None) -> list[Trial]:
        """End a trial; what was told after a place, or from this trial on."""
        from sqlalchemy import select, update

        must_have_ended(trial)
        trials = schema().trials

        def rows(connection: Connection, after: int) -> Sequence[Row[Any]]:
            return connection.execute(select(trials).where(trials.c.told > after).order_by(trials.c.told)).all()

        def write(connection: Connection) -> Sequence[Row[Any]]:
            in_turn(connection)
            now, told = time.time(), _next_told(connection)
            row = _row(replace(trial, finished=now, told=told))
            ends = {
                name: row[name] for name in ("status", "values", "details", "reason", "finished", "told", "curve", "seconds")
            }
            running = trials.c.number == trial.number, trials.c.status == Status.RUNNING.value
            if connection.execute(update(trials).where(*running).values(ends)).rowcount != 1:
                if after is None:
                    raise not_running(self.name, trial)
                return rows(connection, after)
            known = set() if after is None else points(connection, extras)
            new = [extra for extra in extras if extra.point not in known]
            for place, extra in enumerate(new, start=told + 1):
                _insert(connection, replace(extra, told=place, started=now, finished=now))
            _keep(connection, cache)
            return rows(connection, told - 1 if after is None else after)

        return self._decoded(self.database.write(write))

    def add(self, trial: Trial, *, told: bool = False) -> int:
        from sqlalchemy import select

        must_have_ended(trial)
        trials, mark, tries = schema().trials, secrets.token_hex(8), count()

        def write(connection: Connection) -> int:
            in_turn(connection)
            found = connection.execute(select(trials.c.number).where(trials.c.owner == mark)).scalar() if next(tries) else None
            if found is not None:  # it was stored, and the answer was lost
                return int(found)
            now, place = time.time(), _next_told(connection) if told else None
            return _insert(connection, replace(trial, told=place, started=now, finished=now), owner=mark)

        return self.database.write(write)

    # What several drivers need

    def lend(self, trial: Trial, owner: str, seconds: float, *, others: bool = True) -> Trial | None:
        from sqlalchemy import delete

        begun = replace(trial, status=Status.RUNNING, started=time.time())

        def write(connection: Connection) -> int | None:
            number = lent(connection, _row(begun), owner, seconds)
            if number is not None and others:
                in_turn(connection)  # only now: most of those who ask at the same moment find the id taken, and need no turn
                if trial.point in points(connection, [trial], but=trial.id):
                    connection.execute(delete(schema().trials).where(schema().trials.c.number == number))
                    return None
            return number

        number = self.database.write(write)
        return None if number is None else replace(begun, number=number)

    def renew(self, owner: str, seconds: float) -> None:
        self.database.write(lambda connection: renewed(connection, owner, seconds), patience=0.0)

    def claim(self, trial: Trial, lease: Lease, owner: str, seconds: float) -> bool:
        return self.database.write(lambda connection: claimed(connection, trial, lease, owner, seconds))

    def release(self, owner: str) -> None:
        self.database.write(lambda connection: released(connection, owner), patience=0.0)

    def settle(self, trial: Trial, extras: Sequence[Trial], cache: Sequence[CacheEntry], after: int) -> list[Trial]:
        return self._end(trial, extras, cache, after)

    def news(self, owner: str, asked: int, after: int) -> News:
        from sqlalchemy import or_, select

        trials = schema().trials
        query = select(trials).where(or_(trials.c.proposal >= asked, trials.c.told > after))

        def read(connection: Connection) -> tuple[dict[int, Lease], Sequence[Row[Any]]]:
            # Leases first: what ends or begins in between is then in the rows.
            return leases(connection, owner), connection.execute(query).all()

        lent_to_others, rows = self.database.read(read)
        found = self._decoded(rows)
        return News(
            sorted((t for t in found if t.id is not None and t.id >= asked), key=lambda t: t.id or 0),
            sorted((t for t in found if t.told is not None and t.told > after), key=lambda t: t.told or 0),
            lent_to_others,
        )

    def trials(self) -> list[Trial]:
        from sqlalchemy import select

        trials = schema().trials
        return self._decoded(self._rows(select(trials).order_by(trials.c.number)))

    def running(self) -> list[Trial]:
        from sqlalchemy import select

        trials = schema().trials
        query = select(trials).where(trials.c.status == Status.RUNNING.value).order_by(trials.c.number)
        return self._decoded(self._rows(query))

    def known(self, key: str) -> dict[str, CacheEntry]:
        from sqlalchemy import select

        cache = schema().cache
        rows = self._rows(select(cache).where(cache.c.key == key))
        found = ((r.fingerprint, self._json(r._mapping["values"], _NUMBERS), self._json(r.details, _DETAILS)) for r in rows)
        return {name: CacheEntry(key, name, values, details) for name, values, details in found}

    # Facts about the study, curves of trainings, stages

    def get_meta(self, key: str, default: Any = None) -> Any:
        from sqlalchemy import select

        meta = schema().meta
        rows = self._rows(select(meta.c.value).where(meta.c.key == key))
        return self._json(rows[0][0], FACTS.get(key, Any)) if rows else default

    def set_meta(self, key: str, value: Any) -> None:
        self._replace(schema().meta, {"key": key}, {"value": json.dumps(value)})

    def log_curve(self, name: str, step: int, values: Numbers) -> None:
        self._replace(schema().curves, {"name": name, "step": step}, {"values": _numbers(values)})

    def curve(self, name: str) -> list[tuple[int, dict[str, float]]]:
        from sqlalchemy import select

        curves = schema().curves
        rows = self._rows(select(curves.c.step, curves.c["values"]).where(curves.c.name == name).order_by(curves.c.step))
        return [(row.step, self._json(row._mapping["values"], _NUMBERS)) for row in rows]

    def curves(self) -> list[str]:
        from sqlalchemy import select

        name = schema().curves.c.name
        return [row[0] for row in self._rows(select(name).distinct().order_by(name))]

    def stages(self) -> list[StageRow]:
        from sqlalchemy import select

        stages = schema().stages
        rows = self._rows(select(stages).order_by(stages.c.number))
        for row in rows:
            self._check(row, _STAGE)
        return [StageRow(r.name, r.status, r.started, r.finished, self._json(r.details, dict), r.reason) for r in rows]

    def write_stage(self, row: StageRow) -> None:
        from sqlalchemy import insert, update

        stages = schema().stages
        values = {"status": row.status, "started": row.started, "finished": row.finished, "reason": _plain(row.reason)}
        values["details"] = json.dumps(dict(row.details))

        def write(connection: Connection) -> None:
            changed = connection.execute(update(stages).where(stages.c.name == row.name).values(values))
            if changed.rowcount == 0:
                connection.execute(insert(stages).values({**values, "name": row.name}))

        self.database.write(write)

    def _rows(self, query: Any) -> Sequence[Row[Any]]:
        return self.database.read(lambda connection: connection.execute(query).all())

    def _replace(self, table: Any, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """The row with this key, in the place of what was there."""
        from sqlalchemy import delete, insert

        def write(connection: Connection) -> None:
            in_turn(connection)
            connection.execute(delete(table).where(*(table.c[name] == value for name, value in key.items())))
            connection.execute(insert(table).values({**key, **values}))

        self.database.write(write)

    def _decoded(self, rows: Sequence[Row[Any]]) -> list[Trial]:
        return [self._trial(row) for row in rows]

    def _trial(self, row: Row[Any]) -> Trial:
        self._check(row, _TRIAL)
        values = self._json(row._mapping["values"], _NUMBERS)
        try:
            if row.status == Status.COMPLETE and not all(map(math.isfinite, values.values())):
                raise ValueError(f"a value of trial {row.number} is not a finite number")
            if row.origin not in ORIGINS:
                raise ValueError(f"trial {row.number} comes from {shown(row.origin)}")
            return Trial(
                row.proposal,
                Architecture.from_json(row.architecture),
                Status(row.status),
                values,
                row.budget,
                row.reason,
                row.origin,
                self._json(row.details, _DETAILS),
                tuple((budget, found) for budget, found in self._json(row.curve or "[]", list[list[Any]])),
                row.seconds,
                row.continues,
                row.number,
                row.started,
                row.finished,
                row.told,
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise damaged(self.name, one_line(error)) from error

    def _check(self, row: Row[Any], types: Mapping[str, Any]) -> None:
        """SQLite keeps anything in any column: raise StudyError where a field is not of its type."""
        wrong = [name for name, hint in types.items() if not fits(row._mapping[name], hint) or _endless(row._mapping[name])]
        if wrong:
            raise damaged(self.name, f"`{wrong[0]}` is {shown(row._mapping[wrong[0]])}")

    def _json(self, text: Any, hint: Any) -> Any:
        """What a text of JSON says, of this type."""
        try:
            found = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise damaged(self.name, one_line(error)) from error
        if not all(fits(found, kind) for kind in (hint if isinstance(hint, tuple) else (hint,))):
            raise damaged(self.name, shown(found))
        return found


def _endless(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _next_told(connection: Connection) -> int:
    from sqlalchemy import func, select

    return 1 + int(connection.execute(select(func.coalesce(func.max(schema().trials.c.told), -1))).scalar_one())


def _insert(connection: Connection, trial: Trial, **more: Any) -> int:
    from sqlalchemy import insert

    key = connection.execute(insert(schema().trials), {**_row(trial), **more}).inserted_primary_key
    assert key is not None
    return int(key[0])


def _row(trial: Trial) -> dict[str, Any]:
    """A trial as a row, but for its number."""
    return {
        "proposal": trial.id,
        "told": trial.told,
        "key": trial.key,
        "architecture": trial.architecture.to_json(),
        "status": str(trial.status),
        "values": _numbers(trial.values),
        "details": _details(trial.details),
        "reason": _plain(trial.reason),
        "origin": trial.origin,
        "budget": trial.budget,
        "continues": trial.continues,
        "curve": json.dumps([[float(b), json.loads(_numbers(v))] for b, v in trial.curve]) if trial.curve else None,
        "seconds": trial.seconds,
        "started": trial.started,
        "finished": trial.finished,
    }


def _keep(connection: Connection, entries: Sequence[CacheEntry]) -> None:
    """Keep what estimators found; an older entry of the same key and fingerprint is replaced."""
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
    cache = schema().cache
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
