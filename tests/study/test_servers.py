"""Studies on a server that goes away and comes back."""

from __future__ import annotations

from typing import Any

import pytest

from secateur.architecture import Architecture
from secateur.errors import StudyError
from secateur.estimators.together import CacheEntry
from secateur.study import Stop, create_store, open_store
from secateur.study.memory_store import MemoryStore
from secateur.study.sql_store import SqlStore
from secateur.testing import toy_study as toys
from secateur.testing.stores import asked, ended
from secateur.trial import Trial


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
