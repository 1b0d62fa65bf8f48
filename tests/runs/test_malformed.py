"""Runs that somebody or something has changed: every verb that opens one says so in one line, and leaves it alone."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from secateur.errors import SecateurError, StudyError
from secateur.runs.folder import open_run
from secateur.runs.state import state_of
from secateur.verbs.export import export
from secateur.verbs.front import front
from secateur.verbs.report import report
from secateur.verbs.resume import resume
from secateur.verbs.train import train

VERBS: dict[str, Callable[[Path], Any]] = {
    "front": front,
    "report": lambda run: report(run).show(),
    "resume": lambda run: resume(run, progress=False),
    "export": lambda run: export(run, to=run.parent / "out", under=["body_parameters=90%"]),
    "train": lambda run: train(run, key="0", text=run / "log.jsonl", to=run.parent / "out", progress=False),
}


@pytest.fixture
def run(pruned: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pruned, tmp_path / "run", ignore=shutil.ignore_patterns("supernet", "front")))


def refused(act: Callable[[], Any], message: str | None = None, error: type[SecateurError] = StudyError) -> None:
    with pytest.raises(error, match=message) as caught:
        act()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 800


SETTINGS: dict[str, tuple[Any, str]] = {
    "a word for a number": ({"trials": "many"}, "`trials` must be a whole number, got 'many'"),
    "a fraction for a number": ({"seed": 1.5}, "`seed` must be a whole number"),
    "a number for a list": ({"objectives": 5}, "`objectives` must be a list of texts, got 5"),
    "numbers for texts": ({"objectives": [1, 2]}, "`objectives` must be a list of texts"),
    "a list in a list": ({"polish_at": [["50%"]]}, "`polish_at` must be a text, a number or a list of these"),
    "a mapping": ({"model": {"a": 1}}, "`model` must be a text, a number or a list of these"),
    "a word for true": ({"polish": "perhaps"}, "`polish` must be true or false"),
    "what is not known": ({"clairvoyance": 3}, "does not know: clairvoyance"),
    "a number for a name": ({7: 3}, "`7` must be a text"),
    "nothing needed": ({"model": None}, "`model` must be text, got None"),
    "an objective nobody knows": ({"objectives": ["error", "beauty"]}, "beauty"),
    "a verb nobody knows": ({"verb": "dream"}, "its verb does not create runs: unknown run `dream`"),
    "a verb that is a list": ({"verb": ["prune"]}, "its verb must be prune, design or cells"),
    "the other verb": ({"verb": "design"}, "settings that this version does not know"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_cannot_be(case: str, run: Path) -> None:
    changes, message = SETTINGS[case]
    said = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    (run / "config.yaml").write_text(yaml.safe_dump({**said, **changes}), encoding="utf-8")
    refused(lambda: front(run), message, SecateurError)


def test_settings_that_lack_something(run: Path) -> None:
    said = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    del said["model"]
    (run / "config.yaml").write_text(yaml.safe_dump(said), encoding="utf-8")
    refused(lambda: front(run), "it is missing model")


NO_SETTINGS = {
    "garbage": b"\xff\xfe\x00\x80",
    "zero bytes": b"\0" * 40,
    "a list": b"- 1\n",
    "no YAML": b"verb: [prune\n",
    "code": b"verb: !!python/object/apply:os.mkdir ['was-here']\n",
    "lists in lists in lists": b"[" * 1200,
    "references to references": b"".join(b"a%d: &a%d [%s]\n" % (i, i, b"*a%d, " % (i - 1) * 9) for i in range(1, 30)).replace(
        b"*a0, ", b"x, "
    ),
}


@pytest.mark.parametrize(("case", "verb"), [*(("garbage", verb) for verb in VERBS), *((case, "front") for case in NO_SETTINGS)])
def test_what_are_no_settings(case: str, verb: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.parent)
    (run / "config.yaml").write_bytes(NO_SETTINGS[case])
    refused(lambda: VERBS[verb](run))
    assert not (run.parent / "was-here").exists()
    assert (run / "config.yaml").read_bytes() == NO_SETTINGS[case]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["config.yaml", "study.db"])
def test_a_folder_in_the_place_of_a_file(name: str, verb: str, run: Path) -> None:
    (run / name).unlink()
    (run / name).mkdir()
    refused(lambda: VERBS[verb](run))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "content", [b"", b"no database at all", b"SQLite format 3\0" + b"?" * 5000], ids=["empty", "text", "cut"]
)
def test_a_study_that_is_none(content: bytes, verb: str, run: Path) -> None:
    (run / "study.db").write_bytes(content)
    refused(lambda: VERBS[verb](run))
    assert (run / "study.db").read_bytes() == content


def test_a_study_that_is_cut_or_scratched(run: Path) -> None:
    whole = (run / "study.db").read_bytes()
    for content in (whole[: len(whole) // 2], whole[:100] + b"\xaa" * 3000 + whole[3100:]):
        (run / "study.db").write_bytes(content)
        refused(lambda: front(run), r"study\.db` is damaged")


FACTS = {
    "no JSON": "{",
    "something else": "5",
    "nothing": "null",
    "a list": "[[1]]",
    "words for numbers": '{"error": "low", "parameters": 1, "body_parameters": 1}',
    "not all of it": '{"error": 0.5}',
}


@pytest.mark.parametrize("content", FACTS.values(), ids=list(FACTS))
@pytest.mark.parametrize("fact", ["unpruned", "tests", "measured", "task", "shape", "notes"])
def test_facts_that_are_none(fact: str, content: str, run: Path) -> None:
    if (fact, content) == ("shape", "null"):
        pytest.skip("a run that has not got so far has none")
    change(run, "INSERT OR REPLACE INTO meta VALUES (?, ?)", fact, content)
    refused(lambda: report(run).show(), r"study\.db` is damaged")


@pytest.mark.parametrize(("fact", "content"), [("own", '"yes"'), ("polishing", '{"a": "low"}')])
def test_facts_of_methods_and_polishing(fact: str, content: str, run: Path) -> None:
    change(run, "INSERT OR REPLACE INTO meta VALUES (?, ?)", fact, content)
    refused(lambda: open_run(run).store.get_meta(fact), r"study\.db` is damaged")


def test_a_moment_that_is_none(run: Path) -> None:
    change(run, "INSERT OR REPLACE INTO meta VALUES (?, ?)", "progress", '{"at": "noon"}')
    refused(lambda: state_of(open_run(run)), r"study\.db` is damaged")


ROWS: dict[str, tuple[str, Any, str]] = {
    "a word for a time": ("started", "yesterday", "`started` is 'yesterday'"),
    "a time without end": ("started", float("inf"), "`started` is inf"),
    "a word for a budget": ("budget", "all", "`budget` is 'all'"),
    "bytes for text": ("status", b"\xff\xfe", "`status` is"),
    "a status nobody knows": ("status", "dreaming", "dreaming"),
    "an origin nobody knows": ("origin", "dreams", "comes from 'dreams'"),
    "values that are no JSON": ("values", "{", "unreadable content"),
    "values that are words": ("values", '{"error": "low"}', "low"),
    "values that are not finite": ("values", '{"error": NaN}', "not a finite number"),
    "values beyond bounds": ("values", '{"error": Infinity}', "not a finite number"),
    "details that are lists": ("details", "[1]", "unreadable content"),
    "a curve that is none": ("curve", "[[1, 2, 3]]", "unreadable content"),
    "an architecture that is none": ("architecture", "[]", "unreadable content"),
    "an architecture without a key": ("architecture", '{"space": "small", "choices": {}, "key": 5}', "unreadable content"),
    "an architecture of no space": (
        "architecture",
        '{"space": "small", "choices": {"layers": 99}, "key": "0"}',
        "do not match; one of them was changed",
    ),
    "choices that are a list": ("architecture", '{"space": "small", "choices": [1], "key": "0"}', "unreadable content"),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows_that_cannot_be(case: str, run: Path) -> None:
    column, value, message = ROWS[case]
    change(
        run,
        f'UPDATE trials SET "{column}" = ? WHERE number = (SELECT min(number) FROM trials WHERE status = ?)',
        value,
        "complete",
    )
    refused(lambda: front(run), message)


def test_stages_and_curves_that_cannot_be(run: Path) -> None:
    for table, column in (("stages", "started"), ("stages", "details"), ("curves", "values")):
        copy = Path(shutil.copytree(run, run.parent / column))
        change(copy, f'UPDATE {table} SET "{column}" = ?', "words")
        refused(lambda copy=copy: report(copy).show(), r"study\.db` is damaged")  # type: ignore[misc]


@pytest.mark.parametrize("name", ["r" * 300, "a\nb", "a\x1b[31m", "l\udce9", "~nobody-of-this-name/run", ""])
@pytest.mark.parametrize("verb", VERBS)
def test_names_that_no_folder_should_have(verb: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused(lambda: VERBS[verb](Path(name)), error=SecateurError)


@pytest.mark.parametrize("name", ["r" * 300, "a\nb", "l\udce9"])
def test_no_run_is_begun_under_such_a_name(name: str, tmp_path: Path, quick_design: Any) -> None:
    refused(lambda: quick_design(tmp_path / name))
    assert os.listdir(tmp_path) == []


def test_an_unfinished_training_that_was_changed(designed: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("one two three four five\n" * 200)
    key = front(designed).members[0].key
    for content in ("{", "[]", "5", ""):
        (tmp_path / "to" / "training").mkdir(parents=True, exist_ok=True)
        (tmp_path / "to" / "training" / "settings.json").write_text(content)
        refused(
            lambda: train(designed, key=key, text=tmp_path / "text.txt", to=tmp_path / "to", length=4, progress=False),
            r"settings\.json` is damaged",
        )


def change(run: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(run / "study.db")) as database, database:
        database.execute(statement, values)


def test_the_study_as_it_was_is_read(run: Path) -> None:
    assert json.dumps([dict(m.values) for m in front(run).members]) != "[]"
