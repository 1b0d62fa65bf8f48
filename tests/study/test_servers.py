"""Studies on a server that goes away and comes back."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from secateur.architecture import Architecture
from secateur.errors import StudyError
from secateur.estimators.together import CacheEntry
from secateur.study import StageRow, Stop, create_store, open_store
from secateur.study.memory_store import MemoryStore
from secateur.study.sql_store import SqlStore
from secateur.testing import toy_study as toys
from secateur.testing.stores import asked, ended, extra
from secateur.trial import POLISH, Trial


def test_a_server_holds_one_study(postgres: str) -> None:
    with pytest.raises(StudyError, match="is a database but not a study"):
        open_store(postgres)
    create_store(postgres).close()
    with pytest.raises(StudyError, match="already contains a study"):
        create_store(postgres)


@pytest.fixture(params=["url", "socket_url"])
def away(request: pytest.FixtureRequest, own_postgres: str, server: Any) -> str:
    """The URL of a study on a server that the test stops, by network or by socket."""
    options = own_postgres.partition("?")[2]
    return own_postgres if request.param == "url" else f"{server.socket_url}&{options}"


def test_a_server_that_was_away_between_two_operations(away: str, server: Any) -> None:
    with create_store(away, {"seed": 0}) as store:
        begun = store.begin(asked())
        server.stop()
        server.start()
        (trial,) = store.finish(ended(begun), cache=[CacheEntry("a", "f", {"error": 0.5})])
        server.stop()
        server.start()
        assert store.trials() == [trial]


def test_a_server_that_is_away_for_a_while(away: str, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts are repeated until the server is back, or patience ends."""
    pauses: list[float] = []

    def back(pause: float) -> None:
        pauses.append(pause)
        if len(pauses) == 3:
            server.start()

    monkeypatch.setattr("secateur.study.database.time.sleep", back)
    with SqlStore.create(away) as store:
        server.stop()
        store.begin(asked())
        assert len(store.trials()) == 1
        assert len(pauses) >= 3
        server.stop()
        try:
            monkeypatch.setattr("secateur.study.database.time.sleep", lambda pause: None)
            store.database.patience = 0.01
            with pytest.raises(StudyError, match=r"was away for more than 0.01 seconds .* continue when it is back") as caught:
                store.trials()
            assert "\n" not in str(caught.value)
        finally:
            server.start()


def test_a_study_goes_on_when_its_server_comes_back(own_postgres: str, server: Any) -> None:
    restarts = []

    def restart(trial: Trial) -> None:
        if trial.id in (2, 5):
            server.stop()
            server.start()
            restarts.append(trial.id)

    def evaluating(architecture: Architecture) -> None:
        if len(error.calls) == 4:
            server.stop()
            server.start()
            restarts.append(-1)

    error, whole = toys.Error(before=evaluating), MemoryStore()
    toys.study(whole).run(Stop(trials=10))
    with create_store(own_postgres) as store:
        toys.study(store, error=error, on_trial=restart).run(Stop(trials=10))
        assert toys.story(store) == toys.story(whole)
    assert sorted(restarts) == [-1, 2, 5]


def test_a_server_that_was_never_there_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setattr("secateur.study.database.time.sleep", lambda pause: pytest.fail("it was waited for"))
    with pytest.raises(StudyError, match="cannot be used"):
        create_store("postgresql+psycopg://nobody@127.0.0.1:1/nothing")


class Cutting:
    """A wire to a server that is cut when the answer to a commit comes back: what was stored is not acknowledged."""

    def __init__(self, port: int) -> None:
        self.server = port
        #: Of the commits that pass, those to cut at, counted from 1.
        self.at: set[int] = set()
        self.commits = 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listening.accept()
                server = socket.create_connection(("127.0.0.1", self.server))
                waiting = threading.Event()
                threading.Thread(target=self._there, args=(client, server, waiting), daemon=True).start()
                threading.Thread(target=self._back, args=(server, client, waiting), daemon=True).start()

    def _there(self, client: socket.socket, server: socket.socket, waiting: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if b"COMMIT" in data:
                    self.commits += 1
                    if self.commits in self.at:
                        waiting.set()
                server.sendall(data)
            server.close()

    def _back(self, server: socket.socket, client: socket.socket, waiting: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if waiting.is_set():
                    break
                client.sendall(data)
            for end in (client, server):
                end.shutdown(socket.SHUT_RDWR)
                end.close()


@pytest.fixture
def wire(server: Any) -> Iterator[Cutting]:
    made = Cutting(server.port)
    yield made
    made.listening.close()


def test_what_was_stored_and_not_acknowledged_is_there_once(own_postgres: str, server: Any, wire: Cutting) -> None:
    """Each commit of a study, one after the other, is stored while its answer is lost."""
    url = own_postgres.replace(f":{server.port}/", f":{wire.port}/")
    whole = MemoryStore()
    toys.study(whole).run(Stop(trials=4))
    whole.add(replace(extra("b"), origin=POLISH))
    create_store(own_postgres).close()
    with open_store(url) as store:
        wire.commits, wire.at = 0, set(range(2, 60, 2))  # every attempt but the second of each
        toys.study(store).run(Stop(trials=4))
        store.add(replace(extra("b"), origin=POLISH))
        store.set_meta("order", [1])
        store.log_curve("train", 1, {"loss": 2.0})
        store.write_stage(StageRow("order", "done", 1.0, 2.0))
        cuts = wire.commits // 2
        wire.at = set()
        told = [t[1:] for t in toys.story(store)]
        assert told == [t[1:] for t in toys.story(whole)]
        assert (store.get_meta("order"), store.curve("train")) == ([1], [(1, {"loss": 2.0})])
        assert [row.name for row in store.stages()] == ["order"]
    assert cuts > 10


def test_no_waiting_where_it_does_not_help(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password, a role or a database that is wrong is said at once, at first and later."""
    import sqlalchemy

    monkeypatch.setattr("secateur.study.database.time.sleep", lambda pause: pytest.fail("it was waited for"))
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{before}")
    owner = sqlalchemy.create_engine(server.url, isolation_level="AUTOCOMMIT")
    try:
        with owner.connect() as connection:
            connection.exec_driver_sql("SELECT pg_reload_conf()")
            connection.exec_driver_sql("CREATE ROLE locked LOGIN PASSWORD 'right'")
            connection.exec_driver_sql("CREATE SCHEMA locked AUTHORIZATION locked")
            url = server.url.replace("secateur@", "locked:{}@") + "?options=-csearch_path%3Dlocked"
            for wrong, said in (
                (url.format("wrong"), "password authentication failed"),
                (server.url.replace("/postgres", "/nothing"), 'database "nothing" does not exist'),
                (server.url.replace("secateur@", "nobody@"), 'role "nobody" does not exist'),
            ):
                with pytest.raises(StudyError, match=said) as caught:
                    open_store(wrong)
                assert "\n" not in str(caught.value)
                assert "wrong@" not in str(caught.value)
            with create_store(url.format("right")) as store:
                connection.exec_driver_sql("ALTER ROLE locked PASSWORD 'new'")
                query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'locked'"
                assert connection.exec_driver_sql(query).scalar()
                monkeypatch.setattr(
                    "secateur.study.database.time.sleep", lambda pause: None if pause == 0 else pytest.fail("!")
                )
                with pytest.raises(StudyError, match="password authentication failed"):
                    store.trials()
    finally:
        rules.write_text(before)
        with owner.connect() as connection:
            connection.exec_driver_sql("SELECT pg_reload_conf()")
            connection.exec_driver_sql("DROP SCHEMA locked CASCADE")
            connection.exec_driver_sql("DROP ROLE locked")
        owner.dispose()


def test_a_plain_url_has_the_driver_of_the_extra(postgres: str) -> None:
    create_store(postgres.replace("+psycopg", "")).close()
    with open_store(postgres.replace("+psycopg", ""), patience=7.0) as store:
        assert isinstance(store, SqlStore)
        assert store.database.patience == 7.0
