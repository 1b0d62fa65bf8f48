"""A store in a fresh folder, and a PostgreSQL server of our own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from secateur.study.sql_store import SqlStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.create(tmp_path / "study.db", {"seed": 0}) as made:
        yield made


class Server:
    """A PostgreSQL server in a folder of its own, to be stopped and started."""

    def __init__(self, programs: Path, folder: Path, user: str | None) -> None:
        self.programs, self.folder, self.user = programs, folder, user
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run("initdb", "-D", str(folder / "data"), "-U", "secateur", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        # Its own log is no pipe of ours: the server would keep it open.
        with open(os.devnull, "w") as nowhere:
            subprocess.run(
                [self.programs / program, *arguments],
                check=True,
                stdout=nowhere,
                stderr=nowhere,
                user=self.user,
                cwd=self.folder,
            )

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-o", options, "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "fast", "-w", "stop")

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://secateur@127.0.0.1:{self.port}/postgres"

    @property
    def socket_url(self) -> str:
        """Of the same server, by a socket in its folder."""
        return f"postgresql+psycopg://secateur@/postgres?host={self.folder}&port={self.port}"


def programs() -> Path | None:
    """Where PostgreSQL's programs are, or None."""
    on_path = shutil.which("initdb")
    places = [Path(on_path).resolve().parent] if on_path else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((p for p in places if (p / "initdb").exists() and (p / "pg_ctl").exists()), None)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("psycopg")
    found = programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed here")
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = next((p.pw_name for p in pwd.getpwall() if p.pw_name in ("postgres", "nobody")), None)
        if user is None:
            pytest.skip("PostgreSQL does not run as root, and there is no other user")
    with tempfile.TemporaryDirectory(prefix="secateur-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        try:
            made = Server(found, folder, user)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"PostgreSQL does not start here: {error}")
        try:
            yield made
        finally:
            made.stop()


def schema_of_its_own(url: str) -> Iterator[str]:
    import sqlalchemy

    name = f"secateur_{uuid.uuid4().hex[:12]}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
    engine.dispose()


@pytest.fixture
def postgres(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty schema: on the server that SECATEUR_POSTGRES names, or on one started here."""
    url = os.environ.get("SECATEUR_POSTGRES") or request.getfixturevalue("server").url
    yield from schema_of_its_own(url)


@pytest.fixture
def own_postgres(server: Server) -> Iterator[str]:
    """The URL of an empty schema on the server that the test may stop and start."""
    yield from schema_of_its_own(server.url)
