"""The store: round trips, transactions, and files that are not what they should be."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secateur.architecture import Architecture
from secateur.errors import MissingExtraError, StudyError
from secateur.search.base import Proposal
from secateur.study import Store
from secateur.study.protocol import CacheEntry, Extra

numbers = st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False, allow_infinity=False), max_size=4)
details = st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False) | st.text(max_size=12), max_size=4)
scalars = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=5)
choices = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=5), lambda v: st.lists(v, max_size=3)
    ),
    max_size=4,
)
architectures = st.builds(Architecture.of, st.text(max_size=8), choices, st.from_regex(r"[0-9a-f]{16}", fullmatch=True))
endings = st.tuples(
    architectures,
    st.sampled_from(["running", "complete", "infeasible", "failed"]),
    numbers,
    details,
    st.none() | st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    st.none() | st.floats(0, 1e6),
    st.lists(st.tuples(architectures, numbers), max_size=2),
)


def proposal(key: str = "k", number: int = 0, budget: float | None = None) -> Proposal:
    return Proposal(number, Architecture.of("toy", {"heads": 2, "units": [1, 2]}, key), budget)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(endings, max_size=5))
def test_what_goes_in_comes_out(rows: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        store = Store.create(path, {"rows": len(rows)})
        wanted, order = [], 0
        for number, (architecture, status, values, notes, reason, budget, extras) in enumerate(rows):
            row = store.begin(Proposal(number, architecture, budget))
            if status == "running":
                wanted.append((number, None, architecture, "running", {}, {}, None, "asked", budget))
                continue
            free = [Extra(a, v) for a, v in extras]
            ended = store.finish(row, status, values, notes, reason, extras=free)
            wanted.append((number, order, architecture, status, values, notes, reason, "asked", budget))
            wanted += [(None, order + 1 + i, a, "complete", v, {}, None, "sweep", None) for i, (a, v) in enumerate(extras)]
            assert [t.told for t in ended] == list(range(order, order + 1 + len(extras)))
            order += 1 + len(extras)
        store.close()
        with Store.open(path) as again:
            got = again.trials()
            assert [
                (t.id, t.told, t.architecture, t.status, t.values, t.details, t.reason, t.origin, t.budget) for t in got
            ] == wanted
            assert [t.told for t in again.told()] == list(range(order))
            assert [t.id for t in again.running()] == [w[0] for w in wanted if w[3] == "running"]
            assert again.settings == {"rows": len(rows)}
            assert all((t.finished is None) == (t.status == "running") for t in got)


@settings(max_examples=25, deadline=None)
@given(key=st.text(max_size=16), fingerprint=st.text(max_size=16), values=numbers, notes=details)
def test_cache_round_trip(key: str, fingerprint: str, values: dict[str, float], notes: dict[str, Any]) -> None:
    key, fingerprint = (t.encode("utf-8", "replace").decode().replace("\0", "") for t in (key, fingerprint))
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "s.db") as store:
        assert store.cached(key, fingerprint) is None
        store.put_cache(key, fingerprint, {"old": 1.0})
        store.put_cache(key, fingerprint, values, notes)
        assert store.cached(key, fingerprint) == (values, notes)
        assert store.cached(key, fingerprint + "x") is None


def test_numpy_numbers_become_plain(store: Store) -> None:
    number = store.begin(proposal())
    (trial,) = store.finish(number, "complete", {"error": np.float32(0.5)}, {"n": np.int64(3)})  # type: ignore[dict-item]
    assert trial.values == {"error": 0.5}
    assert trial.details == {"n": 3.0}
    assert type(trial.values["error"]) is float


def test_odd_text_in_a_reason(store: Store) -> None:
    (trial,) = store.finish(store.begin(proposal()), "failed", reason="a\0b\ud800")
    assert trial.reason == "ab?"


def test_finish_is_one_transaction(store: Store) -> None:
    number = store.begin(proposal("a"))
    unstorable = Extra(proposal("b").architecture, {"error": "no number"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="could not convert"):
        store.finish(number, "complete", {"error": 1.0}, extras=[unstorable], cache=[CacheEntry("a", "f", {"error": 1.0})])
    (trial,) = store.trials()
    assert trial.status == "running"
    assert trial.values == {}
    assert trial.told is None
    assert store.cached("a", "f") is None


def test_only_a_running_trial_ends(store: Store) -> None:
    number = store.begin(proposal())
    with pytest.raises(ValueError, match="complete, infeasible, failed, got `running`"):
        store.finish(number, "running")
    store.finish(number, "complete", {"error": 1.0})
    with pytest.raises(StudyError, match="trial 1 is not running"):
        store.finish(number, "failed")
    assert store.trials()[0].status == "complete"


def test_a_proposal_begins_once(store: Store) -> None:
    store.begin(proposal())
    with pytest.raises(StudyError, match="changed by another process"):
        store.begin(proposal())


def test_added_results_are_told_only_where_wanted(store: Store) -> None:
    store.finish(store.begin(proposal("a")), "complete", {"error": 1.0})
    store.add(proposal("b").architecture, "complete", {"error": 0.5}, "polish", {"epochs": 3.0})
    store.add(proposal("c").architecture, "failed", {}, "imported", reason="lost", told=True)
    assert [(t.architecture.key, t.origin, t.reason) for t in store.told()] == [("a", "asked", None), ("c", "imported", "lost")]
    assert store.trials()[1].details == {"epochs": 3.0}
    with pytest.raises(ValueError, match="got `running`"):
        store.add(proposal("d").architecture, "running", {}, "imported")


def test_trial_speaks_the_searchers_language(store: Store) -> None:
    asked = proposal("a", budget=2.0)
    (trial, extra) = store.finish(
        store.begin(asked), "complete", {"error": 1.0}, extras=[Extra(proposal("b").architecture, {})]
    )
    assert trial.proposal() == asked
    assert trial.result().id == 0
    assert trial.result().budget == 2.0
    assert extra.result().id is None
    assert extra.result().origin == "sweep"
    with pytest.raises(ValueError, match="was not asked for"):
        extra.proposal()


def test_restart_moves_the_start(store: Store) -> None:
    number = store.begin(proposal())
    before = store.running()[0].started
    store.restart(number)
    assert store.running()[0].started > before


def test_facts_and_curves(store: Store) -> None:
    assert store.get_meta("order") is None
    assert store.get_meta("order", 7) == 7
    store.set_meta("order", [[1, 2], {"a": None}])
    store.set_meta("order", [[2, 1], {"a": None}])
    assert store.get_meta("order") == [[2, 1], {"a": None}]
    for step, loss in ((10, 2.0), (5, 3.0), (10, 1.5)):
        store.log_curve("train", step, {"loss": loss})
    store.log_curve("polish", 1, {"loss": 0.1})
    assert store.curve("train") == [(5, {"loss": 3.0}), (10, {"loss": 1.5})]
    assert store.curves() == ["polish", "train"]
    assert store.curve("none") == []


def test_wal_and_no_draft_left(store: Store, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "study.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert {p.name for p in tmp_path.iterdir()} <= {"study.db", "study.db-wal", "study.db-shm"}


def test_odd_folder_names(tmp_path: Path) -> None:
    folder = tmp_path / "100% a?b#c é"
    Store.create(folder / "study.db", {"x": 1}).close()
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        assert store.settings == {"x": 1}


def test_a_second_connection_reads_while_one_writes(store: Store, tmp_path: Path) -> None:
    with Store.open(tmp_path / "study.db") as other, store.database.write():
        assert other.trials() == []


# Bad files


def test_create_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    path.write_text("precious")
    with pytest.raises(StudyError, match="exists already and is not overwritten"):
        Store.create(path)
    assert path.read_text() == "precious"
    path.unlink()
    Path(f"{path}-wal").write_bytes(b"left over")  # SQLite would replay it into the new file
    with pytest.raises(StudyError, match=r"study\.db-wal` exists already"):
        Store.create(path)


def test_create_where_another_process_was_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.db"
    link = os.link

    def slow(source: Any, target: Any) -> None:
        Path(target).write_text("theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", slow)
    with pytest.raises(StudyError, match="Another process has just made it"):
        Store.create(path)
    assert path.read_text() == "theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["study.db"]


def test_create_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Any, target: Any) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    with Store.create(tmp_path / "study.db", {"x": 1}) as store:
        assert store.settings == {"x": 1}


def test_create_where_no_folder_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="cannot be used"):
        Store.create(tmp_path / "file" / "study.db")


def test_open_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="does not exist"):
        Store.open(tmp_path / "study.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StudyError, match="is no file"):
        Store.open(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 5000], ids=["empty", "text", "header"]
)
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "study.db"
    path.write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.db` is damaged or no study") as caught:
        Store.open(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_damaged_study_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with Store.create(path) as store:
        for i in range(60):
            store.finish(store.begin(proposal(f"k{i}", i)), "complete", {"error": 1.0}, {"note": "x" * 200})
    content = bytearray(path.read_bytes())
    content[4096 * 2 : 4096 * 6] = b"\x5a" * 4096 * 4
    path.write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.db` is damaged") as caught:
        Store.open(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_truncated_study_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    Store.create(path).close()
    path.write_bytes(path.read_bytes()[:6000])
    with pytest.raises(StudyError, match=r"study\.db` is damaged"):
        Store.open(path)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(StudyError, match="is a database but no study: it lacks the table `cache`"):
        Store.open(path)
    assert path.read_bytes() == content


def test_another_layout_is_refused(store: Store, tmp_path: Path) -> None:
    store.set_meta("schema", 99)
    with pytest.raises(StudyError, match="has the layout 99"):
        Store.open(tmp_path / "study.db")


def test_unreadable_content_is_damage(store: Store, tmp_path: Path) -> None:
    store.begin(proposal())
    store.put_cache("k", "f", {"error": 1.0})
    with sqlite3.connect(tmp_path / "study.db") as connection:
        connection.execute("UPDATE trials SET architecture = '{\"space\": '")
        connection.execute("UPDATE cache SET \"values\" = '{'")
    connection.close()
    with pytest.raises(StudyError, match="unreadable content"):
        store.trials()
    with pytest.raises(StudyError, match="unreadable content"):
        store.cached("k", "f")


def test_full_disk(store: Store) -> None:
    with store.database.read() as connection:  # the pool gives the same connection to the writes below
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")

    def fill() -> None:
        for i in range(50):
            store.begin(Proposal(i, Architecture.of("toy", {"bits": "1" * 2000}, f"k{i}")))

    with pytest.raises(StudyError, match=r"study\.db`: the disk is full\. Nothing stored so far is lost") as caught:
        fill()
    assert "\n" not in str(caught.value)
    stored = len(store.trials())
    with store.database.read() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=100000")
    store.begin(proposal("after", 99))
    assert len(store.trials()) == stored + 1


def test_full_disk_at_creation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *args: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StudyError, match="the disk is full"):
        Store.create(tmp_path / "study.db")


def test_a_writer_that_does_not_end(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secateur.study.database.PATIENCE", 0.05)
    with (
        Store.open(tmp_path / "study.db") as other,
        store.database.write(),
        pytest.raises(StudyError, match="is being written by another process"),
    ):
        other.begin(proposal())


def test_unknown_kinds_of_databases() -> None:
    with pytest.raises(StudyError, match=r"`oddsql://…` is no database that can be used"):
        Store.open("oddsql://user:secret@host/x")


def test_a_missing_driver_is_named() -> None:
    pytest.importorskip("sqlalchemy")
    with pytest.raises(MissingExtraError, match=r"secateur\[postgres\]"):
        Store.open("postgresql+pg8000://user:secret@nowhere/x")


@pytest.fixture
def postgres() -> Iterator[str]:
    """A schema of its own on the server that SECATEUR_POSTGRES names."""
    url = os.environ.get("SECATEUR_POSTGRES")
    if not url:
        pytest.skip("SECATEUR_POSTGRES names no server")
    import sqlalchemy

    name = f"secateur_{uuid.uuid4().hex[:12]}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
    engine.dispose()


def test_postgres(postgres: str, toys: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is a database but no study"):
        Store.open(postgres)
    with Store.create(postgres, {"x": "é"}) as store, Store.create(tmp_path / "study.db") as file:
        toys.study(store).run(6)
        with Store.open(postgres) as again:
            toys.study(again).run(12)
            assert again.settings == {"x": "é"}
            toys.study(file).run(12)
            assert toys.story(again) == toys.story(file)
        store.log_curve("train", 1, {"loss": 1.0})
        assert store.curve("train") == [(1, {"loss": 1.0})]
    with pytest.raises(StudyError, match="holds a study already"):
        Store.create(postgres)
