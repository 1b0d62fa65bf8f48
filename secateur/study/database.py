"""How a study's database is made, opened and checked, and what its errors mean to the user."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from secateur.errors import MissingExtraError, StudyError, disk_is_full
from secateur.study.schema import MIGRATIONS, VERSION, schema
from secateur.study.snapshot import snapshot
from secateur.writing import aside, remove

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

T = TypeVar("T")

#: Seconds that a connection to a file waits for another one to finish writing, and for a server that has gone away.
TURN, PATIENCE = 30.0, 120.0
#: Between two attempts: at first none, as a connection may only be stale; then twice as long each time, up to the last.
PAUSES = 0.1, 2.0
#: How a connection to PostgreSQL finds out that nobody is at the other end any more; what the URL says comes first.
ALERT = {"connect_timeout": 10, "keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 4}
_WRITES = "secateur_writes"


class Database:
    """One study's database: transactions whose failures are StudyErrors of one line. Make with `create` or `open`."""

    def __init__(self, engine: Engine, name: str, path: Path | None, copy: Any = None, patience: float = PATIENCE) -> None:
        self._engine = engine
        self.name = name
        self.path = path
        self.patience = patience
        self._copy = copy  # a temporary folder that is read in the place of the file's own
        self._reached = False  # a server that was never there is not waited for

    @classmethod
    def create(cls, where: str | Path, meta: Mapping[str, str], patience: float = PATIENCE) -> Database:
        """A new database with empty tables and these rows of `meta`. It appears whole or not at all, and replaces nothing."""
        path = _path_of(where)
        if path is None:
            database = cls(_engine_of_url(str(where)), _hidden(str(where)), None, None, patience)
            database._fill(meta, check=True)
            return database
        for taken in (path, Path(f"{path}-wal")):
            if taken.exists() or taken.is_symlink():
                raise StudyError(f"`{taken}` already exists and is not overwritten. Choose another name, or resume that study.")
        draft = aside(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            sqlite3.connect(draft).close()
            database = cls(_engine_of_file(draft), str(path), path)
            try:
                database._fill(meta, check=False)
            finally:
                database.close()
            _publish(draft, path)
        except (OSError, sqlite3.Error) as error:
            raise _study_error(error, str(path)) from error
        finally:
            for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm"), Path(f"{draft}-journal")):
                remove(leftover)
        return cls.open(path)

    @classmethod
    def open(cls, where: str | Path, patience: float = PATIENCE) -> Database:
        """An existing database, checked. A file that is damaged or something else is refused and left as it is."""
        path = _path_of(where)
        if path is None:
            database = cls(_engine_of_url(str(where)), _hidden(str(where)), None, None, patience)
        else:
            _check_file(path)
            database = cls(_engine_of_file(path), str(path), path) if _writable(path) else cls._open_read_only(path)
        try:
            database._check()
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def _open_read_only(cls, path: Path) -> Database:
        """A database on a disk or in a folder that takes no writes, not even SQLite's own."""
        log = Path(f"{path}-wal")
        if not log.exists() or log.stat().st_size == 0:
            return cls(_engine_of_file(path, "ro&immutable=1"), str(path), path)
        if Path(f"{path}-shm").exists():  # a process may be at work there
            return cls(_engine_of_file(path, "ro"), str(path), path)
        copy = tempfile.TemporaryDirectory(prefix="secateur-")  # SQLite has to sort out what a killed process left
        snapshot(path, Path(copy.name) / path.name)
        return cls(_engine_of_file(Path(copy.name) / path.name, "ro"), str(path), path, copy)

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, from one consistent view."""
        return self._transaction(work, False)

    def write(self, work: Callable[[Connection], T], patience: float | None = None) -> T:
        """What `work` returns: all that it writes is stored, or, where anything goes wrong or the process dies, nothing.

        Where a server has gone away, `work` is done again for so long, also where it may have been stored and only the answer
        was lost: it sees to it that what it writes is there once.
        """
        return self._transaction(work, True, patience)

    def _transaction(self, work: Callable[[Connection], T], writes: bool, patience: float | None = None) -> T:
        """One transaction. Where the server has gone away, it is tried again for a while."""
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        pause, end = 0.0, None
        while True:
            try:
                with self._engine.connect() as connection:
                    connection = connection.execution_options(**{_WRITES: writes})
                    with connection.begin():
                        found = work(connection)
                    self._reached = True
                    return found
            except (SQLAlchemyError, sqlite3.Error, OSError, UnicodeError) as error:
                self._engine.dispose()  # a connection whose commit failed would keep its transaction, and others waiting
                if not (self._reached and self.path is None and isinstance(error, DBAPIError) and _passes(error)):
                    raise _study_error(error, self.name) from error
                now, wait = time.monotonic(), self.patience if patience is None else patience
                end = now + wait if end is None else end
                if now >= end:
                    raise _still_away(error, self.name, wait) from error
            time.sleep(pause)
            pause = min(max(PAUSES[0], 2 * pause), PAUSES[1])

    def _fill(self, meta: Mapping[str, str], check: bool) -> None:
        from sqlalchemy import insert, inspect

        if self.path is not None:  # WAL is a property of the file and cannot be set inside a transaction
            raw = self._engine.raw_connection()
            try:
                raw.cursor().execute("PRAGMA journal_mode=WAL")
            finally:
                raw.close()

        def fill(connection: Connection) -> None:
            there = set(inspect(connection).get_table_names()) & set(schema().metadata.tables) if check else set()
            if "trials" in there:
                raise StudyError(
                    f"`{self.name}` already contains a study and is not overwritten. Resume it, or use another database."
                )
            if there:
                raise StudyError(
                    f"`{self.name}` already has a table `{min(there)}` that is not Secateur's: use another database or schema."
                )
            schema().metadata.create_all(connection)
            connection.execute(insert(schema().meta), [{"key": k, "value": v} for k, v in meta.items()])

        self.write(fill)

    def _check(self) -> None:
        from sqlalchemy import inspect, select, text

        def check(connection: Connection) -> str | None:
            if self.path is not None:
                verdict = connection.execute(text("PRAGMA quick_check(1)")).scalar()
                if verdict != "ok":
                    raise _damaged(self.name, str(verdict))
            missing = set(schema().metadata.tables) - set(inspect(connection).get_table_names())
            if missing:
                raise StudyError(
                    f"`{self.name}` is a database but not a study: it has no table `{min(missing)}`. It was left as it is."
                )
            meta = schema().meta
            return connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar()

        version = self.read(check)
        if version is not None and version in {str(old) for old in MIGRATIONS}:
            if self.path is not None and not _writable(self.path):
                self._migrate_copy(self.path, int(version))
            else:
                self._migrate(int(version))
        elif version != str(VERSION):
            raise StudyError(
                f"`{self.name}` has layout version {str(version)[:20]}, but this version of Secateur reads {VERSION}. "
                "Use the version that wrote it."
            )

    def _migrate(self, version: int) -> None:
        """Bring a study of an older version up to this one, in one transaction."""
        from sqlalchemy import select, text, update

        def write(connection: Connection) -> None:
            meta = schema().meta
            if connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar() != str(version):
                return  # another process has just done it
            for name, kind in MIGRATIONS[version]:
                connection.execute(text(f"ALTER TABLE trials ADD COLUMN {name} {kind}"))
            connection.execute(update(meta).where(meta.c.key == "schema").values(value=str(VERSION)))

        self.write(write)

    def _migrate_copy(self, path: Path, version: int) -> None:
        """The same of a copy, which is read from then on, where the study itself cannot be written."""
        self._engine.dispose()
        if self._copy is None:
            self._copy = tempfile.TemporaryDirectory(prefix="secateur-")
            snapshot(path, Path(self._copy.name) / path.name)
        copied = Path(self._copy.name) / path.name
        self._engine = _engine_of_file(copied)
        self._migrate(version)
        self._engine.dispose()
        self._engine = _engine_of_file(copied, "ro")

    def discard(self) -> None:
        """Remove the tables, and the file where it is one."""
        if self.path is None:
            self.write(lambda connection: schema().metadata.drop_all(connection))
        self.close()
        if self.path is not None:
            for file in (self.path, Path(f"{self.path}-wal"), Path(f"{self.path}-shm")):
                file.unlink(missing_ok=True)

    def close(self) -> None:
        self._engine.dispose()
        if self._copy is not None:
            self._copy.cleanup()


def _path_of(where: str | Path) -> Path | None:
    """The file, or None for the URL of a server."""
    text = str(where)
    if text.startswith("sqlite:///"):
        return Path(text.removeprefix("sqlite:///"))
    return None if "://" in text else Path(where)


#: PostgreSQL's codes for what passes: no connection, the server ends or begins, it has too many connections, a deadlock.
_PASSING = ("08", "57P01", "57P02", "57P03", "53300", "40001", "40P01")
#: What it says where no waiting helps although no code comes with it, as the connection was refused.
_LASTING = ("authentication failed", "does not exist", "pg_hba.conf", "no password supplied", "permission denied")


def _passes(error: Any) -> bool:
    """Whether an error says that the server is not there, or not ready, and may be later."""
    from sqlalchemy.exc import OperationalError

    if error.connection_invalidated:
        return True
    code = getattr(error.orig, "sqlstate", None)
    if code is not None:
        return str(code).startswith(_PASSING)
    said = str(error.orig).lower()
    return isinstance(error, OperationalError) and not any(words in said for words in _LASTING)


def _hidden(url: str) -> str:
    """The URL without its password."""
    from sqlalchemy import make_url

    return make_url(url).render_as_string(hide_password=True)


def _engine_of_url(url: str) -> Engine:
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    try:
        made, options = make_url(url), {}
        if made.drivername in ("postgresql", "postgres"):  # the driver of the extra, whatever SQLAlchemy's own is
            made = made.set(drivername="postgresql+psycopg")
        if made.drivername == "postgresql+psycopg":
            options = {name: value for name, value in ALERT.items() if name not in made.query}
        return create_engine(made, connect_args=options)
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "psycopg", "postgres") from error
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        scheme = url.split("://")[0]
        raise StudyError(f"`{scheme}://…` is not a supported database. Give a file or a postgresql:// URL.") from error


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def _engine_of_file(path: Path, mode: str = "rw") -> Engine:
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import QueuePool

    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"  # rw: never create what is not there

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(uri, uri=True, timeout=TURN, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous=NORMAL")  # with WAL: survives a killed process, no sync at each commit
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # The driver would begin at the first write, with what was read before outside the transaction.
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _check_file(path: Path) -> None:
    if not path.exists():
        raise StudyError(f"`{path}` does not exist: there is no study to open.")
    if not path.is_file():
        raise StudyError(f"`{path}` is not a file: a study is a database file such as study.db.")
    # Its content is for SQLite alone to read: to close the file here would drop the locks of every connection that this process
    # has to it, and the next reader elsewhere would remove the log that is being written (sqlite.org/howtocorrupt.html, 2.2).
    if not os.access(path, os.R_OK):
        raise StudyError(f"`{path}` cannot be read: permission denied.")
    if path.stat().st_size == 0:
        raise _damaged(str(path), "it is empty")


def _publish(draft: Path, path: Path) -> None:
    """Give the draft its name, never over an existing file."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise StudyError(f"`{path}` already exists and is not overwritten. Another process has just made it.") from None
    except OSError:  # a file system without hard links
        os.rename(draft, path)


def _damaged(name: str, why: str) -> StudyError:
    why = " ".join(why.split())
    return StudyError(
        f"`{name}` is damaged or not a study ({why}). It was left as it is: restore it from a copy, or start a new run."
    )


def disk_full(name: str) -> StudyError:
    return StudyError(f"`{name}`: the disk is full. Nothing stored so far is lost: free some space and resume.")


def damaged(name: str, why: object) -> StudyError:
    """The error for content that cannot be read although the database is sound."""
    return _damaged(name, f"unreadable content: {why}")


def _still_away(error: Any, name: str, waited: float) -> StudyError:
    text = " ".join(str(error.orig).split()).rstrip(".")
    return StudyError(
        f"`{name}` was away for more than {waited:g} seconds ({text}). What was stored is not lost: continue when it is back."
    )


def _study_error(error: Any, name: str) -> StudyError:
    """What a database's or the system's error means, in one line."""
    cause = getattr(error, "orig", None) or error
    text = " ".join(str(cause).split())
    low = text.lower()
    if disk_is_full(cause):
        return disk_full(name)
    if not isinstance(cause, sqlite3.Error | OSError | UnicodeError):  # a server's: its words are names of the user's, too
        return StudyError(f"`{name}` cannot be used: {text}.")
    if "malformed" in low or "not a database" in low or isinstance(cause, UnicodeError):
        return _damaged(name, text)
    if "disk i/o error" in low:
        return StudyError(f"`{name}`: the disk failed. Nothing stored so far is lost: fix it, then resume.")
    if "readonly" in low or "read-only" in low:
        return StudyError(f"`{name}` cannot be written. Copy its folder to a place where it can.")
    if "locked" in low or "busy" in low:
        return StudyError(f"`{name}` is being written by another process. Wait for it to finish, then try again.")
    if "unique" in low:
        return StudyError(
            f"`{name}` was changed by another process in the meantime ({text}). Let one process work on a study at a time."
        )
    return StudyError(f"`{name}` cannot be used: {text}.")
