"""The formats of the networks that a run names: exported, scored and timed in turns with the unpruned network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.errors import ConfigurationError, ExportError, MissingExtraError, Stopped, StudyError
from secateur.export.scored import Form, Forms
from secateur.runs.folder import open_run
from secateur.runs.progress import Progress
from secateur.runs.prune import formats as module
from secateur.runs.prune import measuring
from secateur.runs.prune.formats import compare_formats, formats_of, picks
from secateur.runs.prune.report import PruneReport
from secateur.runs.prune.run import PruneRun
from secateur.study import RunLock
from secateur.verbs.report import report
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")
BRIEF: dict[str, Any] = {"epochs": 2.0, "order": False, "trials": 8, "formats": True}


def pretended(run: PruneRun, member: Any, folder: Path, judge: Any) -> Forms:
    """Stands for an export: sizes and scores by the network's key."""
    size = 1000 if member is None else 400
    score = 0.9 if member is None else 0.8
    parts = (("torch", 1, 0.0), ("onnx", 1, 0.0), ("int8", 4, 0.01))
    forms = [Form(name, size // part, score - lost, 1e-3 / part, size / part) for name, part, lost in parts]
    return Forms(tuple(forms), "accuracy", timed="batch 1 × 16 on the CPU, 1 thread", unpruned=None if member is None else 4e-3)


@pytest.fixture(scope="module")
def run(quick_prune: Any, tmp_path_factory: pytest.TempPathFactory) -> PruneRun:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_forms", pretended)
        found: PruneRun = quick_prune(tmp_path_factory.mktemp("formats") / "run", **BRIEF)
    return found


def test_the_network_named_first_and_the_best_at_each_size_are_compared(run: PruneRun) -> None:
    named = {run.headline.key} if run.headline else set()
    named |= {run.front.best(under={"body_parameters": bound}).key for bound in ("50%", "90%")}
    good = {key for key in named if run.member(key).above_chance}
    assert {m.key for m in picks(run)} == good
    assert set(formats_of(run)) == {"unpruned", *good}


def test_rows_are_against_the_unpruned_network_in_pytorch(run: PruneRun) -> None:
    rows = {(row["key"], row["format"]): row for row in PruneReport(run).format_rows()}
    assert rows["unpruned", "PyTorch"] | {"network": ""} == {
        "key": "unpruned", "network": "", "format": "PyTorch", "latency": 1e-3, "bytes": 1000, "memory": 1000.0, "score": 0.9,
        "speedup": 1.0, "smaller": 0.0, "points": 0.0, "metric": "accuracy",
    }  # fmt: skip
    assert rows["unpruned", "ONNX int8"]["speedup"] == pytest.approx(4.0)
    for member in picks(run):
        row = rows[member.key, "ONNX int8"]
        assert row["speedup"] == pytest.approx(4e-3 / 0.25e-3), "of the same turns"
        assert row["smaller"] == pytest.approx(0.9)
        assert row["points"] == pytest.approx(-11.0)


def test_page_terminal_and_tables_show_them(run: PruneRun, capsys: pytest.CaptureFixture[str]) -> None:
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "<h2>Formats</h2>" in page
    assert "ONNX int8" in page
    PruneReport(run).show_finished()
    assert (
        "Formats, against the unpruned network in PyTorch. Accuracy on the validation data; batch 1" in capsys.readouterr().out
    )
    done = CliRunner().invoke(app, ["report", str(run.folder), "--json", "--table", "formats"])
    assert json.loads(done.stdout)["formats"] == PruneReport(run).format_rows()


def test_without_the_libraries_it_says_how_to_get_the_table(
    quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise MissingExtraError("onnxruntime", "onnx")

    monkeypatch.setattr(module, "need_onnx", missing)
    run = quick_prune(tmp_path / "run", polish=False, **BRIEF | {"trials": 2})
    (note,) = (note for note in run.notes if "Formats" in note)
    assert "`onnxruntime` is not installed" in note
    assert f"secateur report {tmp_path / 'run'} --formats" in note
    assert formats_of(run) == {}
    with pytest.raises(MissingExtraError):
        report(tmp_path / "run", formats=True)
    monkeypatch.setattr(module, "need_onnx", lambda: None)
    monkeypatch.setattr(module, "_forms", pretended)
    report(tmp_path / "run", formats=True).write()
    assert "<h2>Formats</h2>" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_a_large_network_is_left_to_the_user(quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MOST", 10)
    run = quick_prune(tmp_path / "run", polish=False, **BRIEF | {"trials": 2})
    assert any("a network of this size takes long" in note for note in run.notes)


def test_one_that_cannot_be_exported_is_said_and_the_others_are_compared(
    run: PruneRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def some(run: PruneRun, member: Any, folder: Path, judge: Any) -> Forms:
        if member is None:
            raise ExportError("torch could not export this.")
        return pretended(run, member, folder, judge)

    before = run.store.get_meta("formats")
    monkeypatch.setattr(module, "_forms", some)
    run.store.set_meta("formats", {})
    assert compare_formats(run, Progress(False)) == [
        "The formats of unpruned could not be compared: torch could not export this."
    ]
    assert set(formats_of(run)) == {m.key for m in picks(run)}
    assert all(row["smaller"] is None and row["points"] is None and row["speedup"] for row in PruneReport(run).format_rows())
    run.store.set_meta("formats", before)


def test_a_run_that_was_killed_goes_on_with_the_network_it_was_at(
    quick_prune: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def killed_at_the_second(run: PruneRun, member: Any, folder: Path, judge: Any) -> Forms:
        begun.append("unpruned" if member is None else member.key)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return pretended(run, member, folder, judge)

    monkeypatch.setattr(module, "_forms", killed_at_the_second)
    with pytest.raises(Stopped):
        quick_prune(tmp_path / "run", **BRIEF)
    run = resume(tmp_path / "run", progress=False)
    assert begun == ["unpruned", begun[1], *(m.key for m in picks(run))]
    assert set(formats_of(run)) == set(begun)


def test_the_command_goes_on_too_and_compares_anew_where_nothing_is_left(
    run: PruneRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []

    def seen(run: PruneRun, member: Any, folder: Path, judge: Any) -> Forms:
        begun.append(member)
        return pretended(run, member, folder, judge)

    monkeypatch.setattr(module, "_forms", seen)
    before = run.store.get_meta("formats")
    run.store.set_meta("formats", {key: forms for key, forms in before.items() if key != "unpruned"})
    report(run.folder, formats=True)
    assert begun == [None]
    report(run.folder, formats=True)
    assert len(begun) == 1 + len(before)
    assert run.store.get_meta("formats") == before


def test_the_command_does_not_disturb_a_run_at_work(run: PruneRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_forms", pretended)
    with RunLock(run.folder), pytest.raises(StudyError, match="is in use by process"):
        report(run.folder, formats=True)
    report(run.folder, formats=True)


def test_a_design_run_has_no_weights_to_compare(designed: Path) -> None:
    with pytest.raises(ConfigurationError, match="compares the networks of a pruning run"):
        report(designed, formats=True)


@pytest.mark.slow
def test_real_formats_of_a_toy(quick_prune: Any, tmp_path: Path) -> None:
    run = quick_prune(tmp_path / "run", **BRIEF | {"polish_at": ["90%"]})
    found = formats_of(open_run(tmp_path / "run"))
    assert set(found) == {"unpruned", *(m.key for m in picks(run))}
    assert len(found) > 1
    for key, forms in found.items():
        assert [form.name for form in forms.forms] == ["torch", "onnx", "int8", "int4"]
        assert all(form.score is not None and form.latency and form.memory for form in forms.forms)
        assert (forms.unpruned is None) is (key == "unpruned")
        error = run.unpruned["error"] if key == "unpruned" else run.member(key).values["error"]
        assert forms.forms[0].score == pytest.approx(1 - error)
