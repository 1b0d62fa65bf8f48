"""The tables of a study. Plain SQL types only, JSON as text, so that SQLite and PostgreSQL hold the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import MetaData, Table

#: 2: trials know what they continue, their curve and their seconds. 3: running ones, who runs them and until when.
VERSION = 3
_LEASES = (("owner", "TEXT"), ("lease", "DOUBLE PRECISION"))
#: Version → the columns that its `trials` lack, as (name, SQL type). A study of that version gets them when it is opened.
MIGRATIONS = {1: (("continues", "INTEGER"), ("curve", "TEXT"), ("seconds", "DOUBLE PRECISION"), *_LEASES), 2: _LEASES}


@dataclass(frozen=True)
class Schema:
    metadata: MetaData
    meta: Table
    trials: Table
    stages: Table
    cache: Table
    curves: Table


@cache
def schema() -> Schema:
    """The tables, built on first use: SQLAlchemy is imported when a store is."""
    from sqlalchemy import Column, Double, Integer, MetaData, String, Table, Text

    metadata = MetaData()
    return Schema(
        metadata,
        Table("meta", metadata, Column("key", String(200), primary_key=True), Column("value", Text, nullable=False)),
        Table(
            "trials",
            metadata,
            Column("number", Integer, primary_key=True),
            Column("proposal", Integer, unique=True),
            Column("told", Integer, unique=True),
            Column("key", String(64), nullable=False, index=True),
            Column("architecture", Text, nullable=False),
            Column("status", String(20), nullable=False, index=True),
            Column("values", Text, nullable=False),
            Column("details", Text, nullable=False),
            Column("reason", Text),
            Column("origin", String(40), nullable=False),
            Column("budget", Double),
            Column("continues", Integer),
            Column("curve", Text),
            Column("seconds", Double),
            Column("started", Double, nullable=False),
            Column("finished", Double),
            Column("owner", Text),
            Column("lease", Double),
        ),
        Table(
            "stages",
            metadata,
            Column("number", Integer, primary_key=True),
            Column("name", String(100), nullable=False, unique=True),
            Column("status", String(20), nullable=False),
            Column("started", Double, nullable=False),
            Column("finished", Double),
            Column("details", Text, nullable=False),
            Column("reason", Text),
        ),
        Table(
            "cache",
            metadata,
            Column("key", String(64), primary_key=True),
            Column("fingerprint", String(200), primary_key=True),
            Column("values", Text, nullable=False),
            Column("details", Text, nullable=False),
        ),
        Table(
            "curves",
            metadata,
            Column("name", String(200), primary_key=True),
            Column("step", Integer, primary_key=True),
            Column("values", Text, nullable=False),
        ),
    )
