"""A study's file as it is now, in a copy: for those who look on and must change nothing."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from secateur.errors import StudyError, one_line


def snapshot(path: Path, copy: Path) -> None:
    """Copy a study, also while a process writes it or where one was killed. Raises StudyError where it cannot be read."""
    log = Path(f"{path}-wal")
    try:
        if Path(f"{path}-shm").exists():  # a process may be at work: SQLite knows what belongs together
            uri = f"file:{quote(str(path.absolute()))}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
            return
        for file in (path, log):
            if file.exists():
                shutil.copyfile(file, copy.with_name(file.name.replace(path.name, copy.name, 1)))
    except (OSError, sqlite3.Error) as error:
        raise StudyError(f"`{path}` cannot be read: {one_line(error)}.") from error
