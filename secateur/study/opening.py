"""Making and opening a store: in memory, in a file, or at the URL of a database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from secateur.errors import StudyError
from secateur.study.database import PATIENCE
from secateur.study.memory_store import MemoryStore
from secateur.study.sql_store import SqlStore
from secateur.study.store import Store

#: What stands for a study in memory where a file or a database URL is asked for.
MEMORY = ("memory://", "sqlite://", "sqlite:///:memory:", ":memory:")


def create_store(where: str | Path, settings: Mapping[str, Any] | None = None, *, patience: float = PATIENCE) -> Store:
    """A new study in memory (`memory://`), in a file or at a database URL; `settings` are plain JSON. Where the database's
    server goes away later, operations are tried again for `patience` seconds.

    Raises StudyError where something is there.
    """
    if str(where) in MEMORY:
        return MemoryStore(settings)
    return SqlStore.create(where, settings, patience=patience)


def open_store(where: str | Path, *, patience: float = PATIENCE) -> Store:
    """An existing study. Raises StudyError where there is none, or it is damaged; it is then left as it is."""
    if str(where) in MEMORY:
        raise StudyError(f"`{where}`: a study in memory ends with its process and cannot be opened again.")
    return SqlStore.open(where, patience=patience)
