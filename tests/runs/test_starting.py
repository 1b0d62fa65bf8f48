"""A run begins in a folder of its own, and goes on there."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from secateur.errors import BoundError, ConfigurationError, MeasurementError, Stopped, StudyError
from secateur.runs.folder import open_run
from secateur.runs.stages import SearchWork
from secateur.runs.starting import next_folder
from secateur.study import RunLock
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")

COUNTED: dict[str, Any] = {"objectives": ["decoder_parameters", "macs"], "trials": 3}


def test_the_next_free_number(tmp_path: Path) -> None:
    assert next_folder("prune", tmp_path / "runs") == tmp_path / "runs" / "prune-001"
    (tmp_path / "prune-001").mkdir()
    (tmp_path / "prune-003").mkdir()
    assert next_folder("prune", tmp_path) == tmp_path / "prune-002"


def test_an_existing_folder_is_never_overwritten(pruned: Path, quick_prune: Any, quick_design: Any, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"already exists.*secateur resume"):
        quick_prune(pruned)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StudyError, match="already exists"):
        quick_design(tmp_path / "file", **COUNTED)
    with pytest.raises(StudyError, match="cannot be written"):
        quick_design(tmp_path / "file" / "run", **COUNTED)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_refused_start_leaves_the_users_own_folder(quick_design: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(BoundError, match="nothing in the space"):
        quick_design(tmp_path / "mine", **{**COUNTED, "bounds": ["parameters<=1"]})
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_refused_start_takes_only_what_it_made(quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came into the user's folder meanwhile stays, and so does a link to it."""
    (tmp_path / "mine").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "mine")

    def refuse(self: Any) -> None:
        (tmp_path / "mine" / "notes.txt").write_text("mine")
        raise BoundError("nothing meets it")

    monkeypatch.setattr("secateur.runs.design.stages.DesignWork.prepare", refuse)
    with pytest.raises(BoundError, match="nothing meets it"):
        quick_design(tmp_path / "link", **COUNTED)
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700


def test_ctrl_c_before_the_first_stage_leaves_a_run_to_go_on_with(
    quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("secateur.runs.design.stages.DesignWork.prepare", interrupted)
        with pytest.raises(Stopped, match="secateur resume"):
            quick_design(tmp_path / "run", **COUNTED)
    assert len(resume(tmp_path / "run", progress=False).trials) == 3


def test_a_folder_that_cannot_be_written_is_said(quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("secateur.runs.settings.RunSettings.write", full)
    with pytest.raises(StudyError, match="cannot be written: no space left"):
        quick_design(tmp_path / "run", **COUNTED)
    assert not (tmp_path / "run").exists()


def test_two_processes_never_start_in_one_folder(quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that comes second leaves the other's folder alone, whatever it saw before."""
    folder = tmp_path / "run"
    folder.mkdir()
    with RunLock(folder):  # the first is at work, and has written nothing yet
        with pytest.raises(StudyError, match="in use by process"):
            quick_design(folder, **COUNTED)
        assert [file.name for file in folder.iterdir()] == ["lock"]
    monkeypatch.setattr("secateur.runs.starting.next_folder", lambda verb: next(numbers))
    numbers = iter([folder, tmp_path / "another"])
    folder.joinpath("lock").unlink()
    folder.rmdir()
    real = Path.mkdir

    def slow(self: Path, *args: Any, **options: Any) -> None:
        if self == folder and not folder.exists():
            real(folder)  # another process was quicker
        real(self, *args, **options)

    monkeypatch.setattr(Path, "mkdir", slow)
    assert quick_design(None, **COUNTED).folder == tmp_path / "another"


def test_a_worker_starts_no_runs(quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECATEUR_WORKER", "1")
    with pytest.raises(ConfigurationError, match="__main__"):
        quick_design(tmp_path / "run", **COUNTED)
    assert not (tmp_path / "run").exists()


def test_a_finished_run_has_nothing_left_to_do(pruned: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(pruned, tmp_path / "copy"))
    before = [(t.number, t.values) for t in open_run(copy).trials]
    resume(copy, progress=False)
    with pytest.raises(ConfigurationError, match="has no --unsteady"):
        resume(copy, unsteady=True, progress=False)
    assert [(t.number, t.values) for t in open_run(copy).trials] == before


def test_changed_data_are_noticed(pruned: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(pruned, copy)
    path = tmp_path / "other.csv"
    path.write_text("review,verdict\n" + "a fine film,good\na dull film,bad\n" * 20)
    settings = yaml.safe_load((copy / "config.yaml").read_text())
    (copy / "config.yaml").write_text(yaml.safe_dump({**settings, "data": str(path)}))
    with pytest.raises(StudyError, match="has changed"):
        resume(copy, progress=False)


@pytest.mark.parametrize("name", ["study.db", "config.yaml"])
def test_damaged_files_are_reported_and_left_alone(name: str, pruned: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(pruned, copy)
    (copy / name).write_bytes(b"\x00 nonsense: [")
    with pytest.raises(StudyError, match=name.replace(".", r"\.")):
        resume(copy, progress=False)
    assert (copy / name).read_bytes() == b"\x00 nonsense: ["


def test_settings_are_restored_from_the_study(quick_design: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    quick_design(folder, **COUNTED).close()
    file = folder / "config.yaml"
    whole = file.read_text()
    middle = whole.index("trials: 3")
    for cut in ("", whole[:middle], whole[: middle + len("tri")], whole[:-1], None):
        file.unlink() if cut is None else file.write_text(cut)
        assert open_run(folder).configuration.trials == 3
        assert (file.read_text() if file.exists() else None) == cut, "who only reads writes nothing"
        resume(folder, progress=True).close()
        assert file.read_text() == whole
        assert "config.yaml was missing or truncated" in " ".join(capsys.readouterr().err.split())
    file.write_text("[nonsense")
    with pytest.raises(StudyError, match=r"Remove it, and the settings are taken from study\.db"):
        open_run(folder)


def test_a_start_killed_before_its_study_can_be_made_again(quick_design: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "lock").write_text("1")
    (folder / f".study.db.{2**22 + 1}-abcdef.unfinished").write_text("half")
    with pytest.raises(StudyError, match="is not a run"):
        resume(folder, progress=False)
    quick_design(folder, **COUNTED).close()
    assert not list(folder.glob(".*"))


def test_a_start_with_a_study_elsewhere_killed_before_it_is_made(
    quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = tmp_path / "run", f"sqlite:///{tmp_path / 'elsewhere.db'}"

    def killed(*_: Any, **__: Any) -> Any:
        shutil.copytree(folder, tmp_path / "left")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("secateur.runs.starting.create_store", killed)
        with pytest.raises(KeyboardInterrupt):
            quick_design(folder, **COUNTED, store=url)
    assert not folder.exists()
    with pytest.raises(StudyError, match="Continue it with `secateur resume"):
        quick_design(tmp_path / "left", **COUNTED, store=url)
    shutil.copytree(tmp_path / "left", tmp_path / "late")
    assert len(resume(tmp_path / "left", progress=False).trials) == 3
    settings = yaml.safe_load((tmp_path / "late" / "config.yaml").read_text())
    (tmp_path / "late" / "config.yaml").write_text(yaml.safe_dump({**settings, "trials": 4}))
    with pytest.raises(StudyError, match="already exists and is not overwritten"):
        resume(tmp_path / "late", progress=False)


def test_a_refused_start_leaves_no_folders(quick_design: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(BoundError, match="nothing in the space"):
        quick_design(tmp_path / "mine" / "new" / "run", **{**COUNTED, "bounds": ["parameters<=1"]})
    assert list((tmp_path / "mine").iterdir()) == []


def test_of_several_processes_one_starts(quick_design: Any, tmp_path: Path) -> None:
    """All begin at the same moment, in one folder, each with settings of its own."""
    for number in range(4):
        folder = tmp_path / f"run-{number}"
        gate, opened = os.pipe()
        children = []
        for trials in (2, 3, 4):
            child = os.fork()
            if child == 0:
                os.close(opened)
                os.read(gate, 1)
                try:
                    quick_design(folder, **{**COUNTED, "trials": trials})
                    os._exit(trials)
                except StudyError as error:
                    os._exit(0 if re.search("in use|already exists", str(error)) else 99)
                except BaseException:
                    os._exit(99)
            children.append(child)
        os.close(gate)
        os.close(opened)
        codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
        assert codes[:2] == [0, 0], codes
        run = open_run(folder)
        assert codes[2] == run.configuration.trials == len(run.trials) == run.store.settings["trials"]


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException, once_begun: bool = True) -> None:
    def fail(self: SearchWork, *_: Any) -> None:
        raise error

    monkeypatch.setattr(SearchWork, "_search" if once_begun else "before_stages", fail)


def test_how_to_go_on_is_said(quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, (error, raised, said) in enumerate(
        (
            (KeyboardInterrupt(), Stopped, "stopped. What was done is saved; continue with: secateur resume"),
            (OSError(28, "No space left on device"), StudyError, "the disk is full. What was done is saved"),
            (ValueError("a fault of ours"), ValueError, "a fault of ours"),
        )
    ):
        with monkeypatch.context() as patch:
            failing(patch, error)
            with pytest.raises(raised, match=said):
                quick_design(tmp_path / f"run-{place}", **COUNTED)
        assert sum(t.complete for t in resume(tmp_path / f"run-{place}", progress=False).trials) == 3


def test_where_no_stage_has_begun_nothing_is_left(quick_design: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, MeasurementError("unsteady"), once_begun=False)
    monkeypatch.setattr("secateur.runs.design.stages.DesignWork.before_stages", SearchWork.before_stages)
    with pytest.raises(MeasurementError):
        quick_design(tmp_path / "run", **COUNTED)
    assert not (tmp_path / "run").exists()
    monkeypatch.undo()
    failing(monkeypatch, MeasurementError("unsteady"))
    with pytest.raises(MeasurementError):
        quick_design(tmp_path / "run", **COUNTED)
    assert (tmp_path / "run").exists()


def test_a_folder_in_training_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "settings.json").write_text("{}")
    with pytest.raises(StudyError, match="is an unfinished training, not a run"):
        resume(tmp_path, progress=False)
