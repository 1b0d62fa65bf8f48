"""The tables of a study. Plain SQL types only, JSON as text, so that SQLite and PostgreSQL hold the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import MetaData, Table

#: Raised when a study written before could no longer be read.
VERSION = 1


@dataclass(frozen=True)
class Tables:
    metadata: MetaData
    meta: Table
    trials: Table
    stages: Table
    cache: Table
    curves: Table


@cache
def tables() -> Tables:
    """The tables, built on first use: SQLAlchemy is imported when a store is."""
    from sqlalchemy import Column, Double, Integer, MetaData, String, Table, Text

    metadata = MetaData()
    return Tables(
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
            Column("started", Double, nullable=False),
            Column("finished", Double),
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
