"""Studies of older versions: they open, are brought up to date, and go on."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from secateur.errors import StudyError
from secateur.study import Stop, create_store, open_store
from secateur.study.memory_store import MemoryStore
from secateur.testing import toy_study as toys
from secateur.testing.stores import asked, ended


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    """A study as the first layout had it: three trials, what came with them, and a fourth that was under way."""
    path = tmp_path / "old.db"
    memory = MemoryStore()
    study = toys.study(memory)
    study.run(Stop(trials=3))
    memory.begin(study.searcher.ask()[0])
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            CREATE TABLE meta (key VARCHAR(200) NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key));
            CREATE TABLE trials (
                number INTEGER NOT NULL, proposal INTEGER, told INTEGER, key VARCHAR(64) NOT NULL, architecture TEXT NOT NULL,
                status VARCHAR(20) NOT NULL, "values" TEXT NOT NULL, details TEXT NOT NULL, reason TEXT,
                origin VARCHAR(40) NOT NULL, budget DOUBLE, started DOUBLE NOT NULL, finished DOUBLE,
                PRIMARY KEY (number), UNIQUE (proposal), UNIQUE (told));
            CREATE INDEX ix_trials_key ON trials (key);
            CREATE INDEX ix_trials_status ON trials (status);
            CREATE TABLE stages (
                number INTEGER NOT NULL, name VARCHAR(100) NOT NULL, status VARCHAR(20) NOT NULL, started DOUBLE NOT NULL,
                finished DOUBLE, details TEXT NOT NULL, reason TEXT, PRIMARY KEY (number), UNIQUE (name));
            CREATE TABLE cache (
                key VARCHAR(64) NOT NULL, fingerprint VARCHAR(200) NOT NULL, "values" TEXT NOT NULL, details TEXT NOT NULL,
                PRIMARY KEY (key, fingerprint));
            CREATE TABLE curves (
                name VARCHAR(200) NOT NULL, step INTEGER NOT NULL, "values" TEXT NOT NULL, PRIMARY KEY (name, step));
            INSERT INTO meta VALUES ('schema', '1'), ('settings', '{"seed": 3}'), ('order', '[2, 1]');
            INSERT INTO stages VALUES (1, 'order', 'done', 1.0, 2.0, '{"epochs": 1}', NULL);
            INSERT INTO curves VALUES ('train', 5, '{"loss": 3.0}');
        """)
        for trial in memory.trials():
            texts = (trial.architecture.to_json(), str(trial.status), json.dumps(trial.values), json.dumps(trial.details))
            row = (trial.number, trial.id, trial.told, trial.key, *texts, None, trial.origin, None, 1.0)
            connection.execute(f"INSERT INTO trials VALUES ({'?, ' * len(row)}?)", (*row, None if trial.told is None else 2.0))
            for entry in memory.known(trial.key).values():
                cached = (entry.key, entry.fingerprint, json.dumps(entry.values), json.dumps(entry.details))
                connection.execute("INSERT INTO cache VALUES (?, ?, ?, ?)", cached)
    connection.close()
    return path


def layout_of(path: Path) -> tuple[str, list[str]]:
    with sqlite3.connect(path) as connection:
        (version,) = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        columns = [row[1] for row in connection.execute("PRAGMA table_info(trials)")]
    connection.close()
    return version, columns


def test_a_study_of_the_first_layout_opens_and_goes_on(version_1: Path, tmp_path: Path) -> None:
    with open_store(version_1) as store:
        *ended_ones, running = store.trials()
        first = ended_ones[0]
        assert (first.continues, first.curve, first.seconds, first.finished) == (None, (), None, 2.0)
        assert [t.told for t in ended_ones] == list(range(len(ended_ones)))
        assert store.running() == [running]
        assert store.settings == {"seed": 3}
        assert store.get_meta("order") == [2, 1]
        assert [(r.name, r.status, r.details) for r in store.stages()] == [("order", "done", {"epochs": 1})]
        assert store.curve("train") == [(5, {"loss": 3.0})]
        assert store.known(first.key)["error"].values == {"error": first.values["error"]}
        toys.study(store).run(Stop(trials=6))
        with create_store(tmp_path / "new.db") as new:
            toys.study(new).run(Stop(trials=6))
            assert toys.story(store) == toys.story(new)
        assert [t.seconds is None for t in store.trials() if t.id is not None] == [True] * 3 + [False] * 3
    version, columns = layout_of(version_1)
    assert version == "3"
    assert set(columns) == set(layout_of(tmp_path / "new.db")[1])
    with open_store(version_1) as store:  # once is enough
        assert len([t for t in store.trials() if t.id is not None]) == 6


def test_a_study_of_an_older_layout_that_cannot_be_written_is_read(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = version_1.read_bytes()
    monkeypatch.setattr("secateur.study.database._writable", lambda path: False)
    with open_store(version_1) as store:
        assert len([t for t in store.trials() if t.id is not None]) == 4
        with pytest.raises(StudyError, match="cannot be written"):
            store.set_meta("order", [1])
    assert version_1.read_bytes() == before


def test_a_study_of_the_second_layout_opens_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with create_store(path) as store:
        toys.study(store).run(Stop(trials=3))
        store.begin(asked(3))
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            ALTER TABLE trials DROP COLUMN owner;
            ALTER TABLE trials DROP COLUMN lease;
            UPDATE meta SET value = '2' WHERE key = 'schema';
        """)
    connection.close()
    with open_store(path) as store:
        toys.study(store, toys.Decliner).run(Stop(trials=5))
        assert [t.id for t in store.trials() if t.id is not None] == [0, 1, 2, 3, 4]
        assert not store.running()


def test_two_processes_may_open_an_older_study_at_once(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from secateur.study.database import Database

    migrate = Database._migrate

    def overtaken(database: Database, version: int) -> None:
        monkeypatch.setattr(Database, "_migrate", migrate)
        open_store(version_1).close()
        migrate(database, version)

    monkeypatch.setattr(Database, "_migrate", overtaken)
    with open_store(version_1) as store:
        assert len([t for t in store.trials() if t.id is not None]) == 4


def test_a_postgres_of_the_first_layout_opens(postgres: str) -> None:
    import sqlalchemy

    with create_store(postgres) as store:
        store.finish(ended(store.begin(asked())))
    engine = sqlalchemy.create_engine(postgres)
    with engine.begin() as connection:
        for name in ("continues", "curve", "seconds", "owner", "lease"):
            connection.exec_driver_sql(f"ALTER TABLE trials DROP COLUMN {name}")
        connection.exec_driver_sql("UPDATE meta SET value = '1' WHERE key = 'schema'")
    engine.dispose()
    with open_store(postgres) as store:
        (trial,) = store.finish(ended(store.begin(asked(1, continues=0)), seconds=3.0))
        assert (trial.continues, trial.seconds) == (0, 3.0)
