"""Stores: the contract of all of them, and files that are not what they should be."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secateur.architecture import Architecture
from secateur.errors import MissingExtraError, StudyError
from secateur.estimators.together import CacheEntry
from secateur.study import Stop, Store, create_store, open_store
from secateur.study.memory_store import MemoryStore
from secateur.study.sql_store import SqlStore
from secateur.testing import toy_study as toys
from secateur.testing.stores import Again, SharedStoreContract, StoreContract, asked, ended, extra, timeless
from secateur.trial import SWEEP, Status, Trial


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return create_store("memory://", {"seed": 0})

    @pytest.fixture
    def again(self) -> Again:
        return lambda store: store


def reopening(where: str | Path, opened: list[Store]) -> Again:
    def again(store: Store) -> Store:
        store.close()
        opened.append(open_store(where))
        return opened[-1]

    return again


class TestSqlite(SharedStoreContract):
    @pytest.fixture
    def other(self, store: Store, tmp_path: Path) -> Iterator[Store]:
        with open_store(tmp_path / "study.db") as opened:
            yield opened

    @pytest.fixture
    def again(self, tmp_path: Path) -> Iterator[Again]:
        opened: list[Store] = []
        yield reopening(tmp_path / "study.db", opened)
        for store in opened:
            store.close()


class TestPostgres(SharedStoreContract):
    @pytest.fixture
    def other(self, store: Store, postgres: str) -> Iterator[Store]:
        with open_store(postgres) as opened:
            yield opened

    @pytest.fixture
    def store(self, postgres: str) -> Iterator[Store]:
        with create_store(postgres, {"seed": 0}) as made:
            yield made

    @pytest.fixture
    def again(self, postgres: str) -> Iterator[Again]:
        opened: list[Store] = []
        yield reopening(postgres, opened)
        for store in opened:
            store.close()


numbers = st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False, allow_infinity=False), max_size=4)
details = st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False) | st.text(max_size=12), max_size=4)
budgets = st.none() | st.floats(0, 1e6)
scalars = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=5)
choices = st.dictionaries(st.text(max_size=8), st.recursive(scalars, lambda v: st.lists(v, max_size=3)), max_size=4)
architectures = st.builds(Architecture.of, st.text(max_size=8), choices, st.from_regex(r"[0-9a-f]{16}", fullmatch=True))
extras = st.builds(Trial, st.none(), architectures, values=numbers, budget=budgets, origin=st.just(SWEEP), details=details)
endings = st.builds(
    Trial,
    st.just(0),
    architectures,
    st.sampled_from(list(Status)),
    numbers,
    budgets,
    st.none() | st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    details=details,
    curve=st.lists(st.tuples(st.floats(0, 1e6), numbers), max_size=3).map(tuple),
    seconds=st.none() | st.floats(0, 1e9),
    continues=st.none() | st.integers(0, 99),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(endings, st.lists(extras, max_size=2)), max_size=5))
def test_what_goes_in_comes_out(rows: list[tuple[Trial, list[Trial]]]) -> None:
    memory = MemoryStore({"rows": len(rows)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        with create_store(path, {"rows": len(rows)}) as store:
            for number, (trial, free) in enumerate(rows):
                proposal = replace(trial, id=number, status=Status.RUNNING, values={}, details={}, curve=(), seconds=None)
                for kept in (memory, store):
                    begun = kept.begin(replace(proposal, reason=None))
                    if trial.status != Status.RUNNING:
                        kept.finish(replace(trial, id=number, number=begun.number), free)
        with open_store(path) as again:
            assert timeless(again.trials()) == timeless(memory.trials())
            assert timeless(again.running()) == timeless(memory.running())
            assert again.settings == {"rows": len(rows)}
    got = memory.trials()
    assert [t.point for t in got if t.id is not None] == [t.point for t, _ in rows]
    assert [t.status for t in got if t.id is not None] == [t.status for t, _ in rows]
    told = sorted(t.told for t in got if t.told is not None)
    assert told == list(range(sum(1 + len(free) for t, free in rows if t.status != Status.RUNNING)))


@settings(max_examples=25, deadline=None)
@given(key=st.text(max_size=16), fingerprint=st.text(max_size=16), values=numbers, notes=details)
def test_cache_round_trip(key: str, fingerprint: str, values: dict[str, float], notes: dict[str, Any]) -> None:
    key, fingerprint = (t.encode("utf-8", "replace").decode().replace("\0", "") for t in (key, fingerprint))
    with tempfile.TemporaryDirectory() as folder, create_store(Path(folder) / "s.db") as store:
        assert store.known(key) == {}
        entry = CacheEntry(key, fingerprint, values, notes)
        store.finish(ended(store.begin(asked())), cache=[CacheEntry(key, fingerprint, {"old": 1.0}), entry])
        assert store.known(key) == {fingerprint: entry}
        assert fingerprint + "x" not in store.known(key)


def test_numpy_numbers_become_plain(store: Store) -> None:
    curve = ((np.float64(1.0), {"error": np.float32(0.5)}),)
    wanted = ended(store.begin(asked()), values={"error": np.float32(0.5)}, details={"n": np.int64(3)}, curve=curve)
    (trial,) = store.finish(wanted)
    assert trial.values == {"error": 0.5}
    assert trial.details == {"n": 3.0}
    assert trial.curve == ((1.0, {"error": 0.5}),)
    assert type(trial.values["error"]) is float
    assert type(trial.curve[0][0]) is float


def test_odd_text_in_a_reason(store: Store) -> None:
    (trial,) = store.finish(ended(store.begin(asked()), Status.FAILED, reason="a\0b\ud800"))
    assert trial.reason == "ab?"


def test_finish_is_one_transaction(store: Store) -> None:
    begun = store.begin(asked(key="a"))
    unstorable = replace(extra("b"), values={"error": "no number"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="could not convert"):
        store.finish(ended(begun), [unstorable], [CacheEntry("a", "f", {"error": 1.0})])
    assert store.trials() == [begun]
    assert store.known("a") == {}


def test_a_proposal_of_another_process(store: Store) -> None:
    store.begin(asked())
    with pytest.raises(StudyError, match="changed by another process"):
        store.begin(asked())


@pytest.mark.parametrize("where", ["memory://", "sqlite://", "sqlite:///:memory:", ":memory:"])
def test_a_study_in_memory_makes_no_file(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with create_store(where, {"x": 1}) as store:
        assert isinstance(store, MemoryStore)
        toys.study(store).run(Stop(trials=3))
        assert len(toys.study(store).front()) >= 1
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StudyError, match="a study in memory ends with its process and cannot be opened again"):
        open_store(where)


def test_wal_and_no_draft_left(store: SqlStore, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "study.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert {p.name for p in tmp_path.iterdir()} <= {"study.db", "study.db-wal", "study.db-shm"}


def test_odd_folder_names(tmp_path: Path) -> None:
    folder = tmp_path / "100% a?b#c é"
    create_store(folder / "study.db", {"x": 1}).close()
    with open_store(f"sqlite:///{folder / 'study.db'}") as store:
        assert store.settings == {"x": 1}


def test_a_second_connection_reads_while_one_writes(store: SqlStore, tmp_path: Path) -> None:
    with open_store(tmp_path / "study.db") as other:
        assert store.database.write(lambda connection: other.trials()) == []


# Bad files


def test_create_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    path.write_text("precious")
    with pytest.raises(StudyError, match="already exists and is not overwritten"):
        create_store(path)
    assert path.read_text() == "precious"
    path.unlink()
    Path(f"{path}-wal").write_bytes(b"left over")  # SQLite would replay it into the new file
    with pytest.raises(StudyError, match=r"study\.db-wal` already exists"):
        create_store(path)


def test_create_where_another_process_was_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.db"
    link = os.link

    def slow(source: Any, target: Any) -> None:
        Path(target).write_text("theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", slow)
    with pytest.raises(StudyError, match="Another process has just made it"):
        create_store(path)
    assert path.read_text() == "theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["study.db"]


def test_create_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Any, target: Any) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    with create_store(tmp_path / "study.db", {"x": 1}) as store:
        assert store.settings == {"x": 1}


def test_create_where_no_folder_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="cannot be used"):
        create_store(tmp_path / "file" / "study.db")


def test_open_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="does not exist"):
        open_store(tmp_path / "study.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StudyError, match="is not a file"):
        open_store(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 5000], ids=["empty", "text", "header"]
)
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "study.db"
    path.write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.db` is damaged or not a study") as caught:
        open_store(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_damaged_study_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with create_store(path) as store:
        for i in range(60):
            store.finish(ended(store.begin(asked(i)), details={"note": "x" * 200}))
    content = bytearray(path.read_bytes())
    content[4096 * 2 : 4096 * 6] = b"\x5a" * 4096 * 4
    path.write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.db` is damaged") as caught:
        open_store(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_truncated_study_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    create_store(path).close()
    path.write_bytes(path.read_bytes()[:6000])
    with pytest.raises(StudyError, match=r"study\.db` is damaged"):
        open_store(path)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(StudyError, match="is a database but not a study: it has no table `cache`"):
        open_store(path)
    assert path.read_bytes() == content


def test_another_layout_is_refused(store: SqlStore, tmp_path: Path) -> None:
    store.set_meta("schema", 99)
    with pytest.raises(StudyError, match="has layout version 99"):
        open_store(tmp_path / "study.db")


def test_unreadable_content_is_damage(store: SqlStore, tmp_path: Path) -> None:
    store.finish(ended(store.begin(asked())), cache=[CacheEntry("k", "f", {"error": 1.0})])
    with sqlite3.connect(tmp_path / "study.db") as connection:
        connection.execute("UPDATE trials SET architecture = '{\"space\": '")
        connection.execute("UPDATE cache SET \"values\" = '{'")
    connection.close()
    with pytest.raises(StudyError, match="unreadable content"):
        store.trials()
    with pytest.raises(StudyError, match="unreadable content"):
        store.known("k")


def test_full_disk(store: SqlStore) -> None:
    def limit(connection: Any) -> None:  # the pool gives the same connection to the writes below
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")

    store.database.read(limit)

    def fill() -> None:
        for i in range(50):
            store.begin(Trial(i, Architecture.of("toy", {"bits": "1" * 2000}, f"k{i}"), Status.RUNNING))

    with pytest.raises(StudyError, match=r"study\.db`: the disk is full\. Nothing stored so far is lost") as caught:
        fill()
    assert "\n" not in str(caught.value)
    stored = len(store.trials())
    store.database.read(lambda connection: connection.exec_driver_sql("PRAGMA max_page_count=100000"))
    store.begin(asked(99))
    assert len(store.trials()) == stored + 1


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("database or disk is full", "the disk is full. Nothing stored so far is lost"),
        ("disk I/O error", "the disk failed. Nothing stored so far is lost"),
        ("attempt to write a readonly database", "cannot be written"),
    ],
)
def test_a_commit_that_the_disk_refuses_keeps_nobody_waiting(
    said: str, means: str, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy.engine.default import DefaultDialect

    def refuse(dialect: Any, connection: Any) -> None:
        raise sqlite3.OperationalError(said)

    with monkeypatch.context() as patch:
        patch.setattr(DefaultDialect, "do_commit", refuse)
        with pytest.raises(StudyError, match=means):
            store.set_meta("a", 1)
    monkeypatch.setattr("secateur.study.database.TURN", 0.0)
    other = SqlStore.open(store.name)
    other.set_meta("b", 2)
    other.close()
    assert store.get_meta("a") is None
    assert store.get_meta("b") == 2


def test_full_disk_at_creation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *args: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StudyError, match="the disk is full"):
        create_store(tmp_path / "study.db")


def test_a_writer_that_does_not_end(store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secateur.study.database.TURN", 0.05)
    with (
        open_store(tmp_path / "study.db") as other,
        pytest.raises(StudyError, match="is being written by another process"),
    ):
        store.database.write(lambda connection: other.begin(asked()))


def test_unknown_kinds_of_databases() -> None:
    with pytest.raises(StudyError, match=r"`oddsql://…` is not a supported database"):
        open_store("oddsql://user:secret@host/x")


def test_a_missing_driver_is_named() -> None:
    pytest.importorskip("sqlalchemy")
    with pytest.raises(MissingExtraError, match=r"secateur\[postgres\]"):
        open_store("postgresql+pg8000://user:secret@nowhere/x")


def test_a_reader_in_another_process_leaves_the_writers_log_alone(tmp_path):
    """The writer's locks hold although its process has opened the study twice. Were they lost, whoever reads the study last
    would remove the log that the writer still writes to, and with it all that follows."""
    path = tmp_path / "study.db"
    code = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nprint(c.execute('SELECT * FROM meta').fetchall())\nc.close()"

    def read() -> str:
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        return done.stdout

    with create_store(path) as first, open_store(path) as second:
        second.set_meta("before", 1)
        assert "before" in read()
        assert Path(f"{path}-wal").exists()
        first.set_meta("after", 2)
        assert "after" in read()
