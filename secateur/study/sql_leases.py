"""Running trials of a database, lent to drivers: each function works inside one transaction, and may be repeated."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from secateur.study.schema import schema
from secateur.study.shared_store import Lease
from secateur.trial import Status, Trial

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection


def in_turn(connection: Connection) -> None:
    """Until this transaction ends, all others that call this wait: places in the order told are given one after the other.

    A transaction that writes to SQLite is alone anyway.
    """
    from sqlalchemy import select

    if connection.dialect.name != "sqlite":
        meta = schema().meta
        connection.execute(select(meta.c.key).where(meta.c.key == "schema").with_for_update())


def lent(connection: Connection, row: Mapping[str, Any], owner: str, seconds: float) -> int | None:
    """Insert a running trial, lent to its owner; its number, or None where another trial has its id."""
    from sqlalchemy import select

    trials, file = schema().trials, connection.dialect.name == "sqlite"
    until = {"lease": time.time() + seconds} if file else {"seconds_lent": seconds}
    number = connection.execute(_inserting(file), {**row, "owner": owner, **until}).scalar()
    if number is None:  # or it was inserted by this very call, and the answer was lost
        mine = trials.c.proposal == row["proposal"], trials.c.owner == owner, trials.c.key == row["key"]
        number = connection.execute(select(trials.c.number).where(*mine)).scalar()
    return None if number is None else int(number)


@cache
def _inserting(file: bool) -> Any:
    """Insert a trial unless there is one of its id; made once, as it is executed for each trial."""
    from sqlalchemy import bindparam
    from sqlalchemy.dialects import postgresql, sqlite

    trials = schema().trials
    until = {} if file else {"lease": _server_time() + bindparam("seconds_lent")}
    new = sqlite.insert(trials).values(until) if file else postgresql.insert(trials).values(until)
    return new.on_conflict_do_nothing().returning(trials.c.number)


def points(connection: Connection, trials: Sequence[Trial], but: int | None = None) -> set[tuple[str, float | None]]:
    """Of the architectures of these trials, those that the search knows, with their budgets; `but` the trial of this id."""
    from sqlalchemy import or_, select

    if not trials:
        return set()
    table = schema().trials
    searched = or_(table.c.told.is_not(None), table.c.proposal.is_not(None) & table.c.proposal.is_distinct_from(but))
    query = select(table.c.key, table.c.budget).where(table.c.key.in_({t.key for t in trials}), searched)
    return {(key, budget) for key, budget in connection.execute(query)}


def renewed(connection: Connection, owner: str, seconds: float) -> None:
    """Lend all that an owner runs to it anew."""
    _change(connection, owner, {"lease": _now(connection) + seconds})


def released(connection: Connection, owner: str) -> None:
    """Let anyone claim what an owner runs."""
    _change(connection, owner, {"owner": None, "lease": None})


def _change(connection: Connection, owner: str, values: Mapping[str, Any]) -> None:
    from sqlalchemy import update

    trials = schema().trials
    running = trials.c.status == Status.RUNNING.value, trials.c.owner == owner
    connection.execute(update(trials).where(*running).values(values))


def claimed(connection: Connection, trial: Trial, lease: Lease, owner: str, seconds: float) -> bool:
    """Give a running trial to another owner where its lease is still this one; whether it has it."""
    from sqlalchemy import select, update

    trials = schema().trials
    running = trials.c.number == trial.number, trials.c.status == Status.RUNNING.value
    unchanged = trials.c.owner.is_not_distinct_from(lease.owner), trials.c.lease.is_not_distinct_from(lease.expires)
    values = {"owner": owner, "lease": _now(connection) + seconds, "started": time.time()}
    connection.execute(update(trials).where(*running, *unchanged).values(values))
    return connection.execute(select(trials.c.number).where(*running, trials.c.owner == owner)).scalar() is not None


def leases(connection: Connection, owner: str) -> dict[int, Lease]:
    """The leases of running trials, but those of this owner, by number."""
    from sqlalchemy import literal, select

    trials = schema().trials
    others = trials.c.status == Status.RUNNING.value, trials.c.owner.is_distinct_from(owner)
    now = _now(connection)
    rows = connection.execute(
        select(trials.c.number, trials.c.owner, trials.c.lease, literal(now) if isinstance(now, float) else now).where(*others)
    )
    return {number: Lease(who, expires, (expires or 0.0) - float(at)) for number, who, expires, at in rows}


def _now(connection: Connection) -> float | ColumnElement[float]:
    """Seconds since 1970 by the clock that all drivers share: the server's, or this machine's where it is a file here."""
    return time.time() if connection.dialect.name == "sqlite" else _server_time()


def _server_time() -> ColumnElement[float]:
    from sqlalchemy import Double, cast, extract, func

    return cast(extract("epoch", func.clock_timestamp()), Double)
