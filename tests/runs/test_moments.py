"""Killed, or refused by the disk, at every operation that changes a file: nothing is lost, and nothing is left over.

`SECATEUR_EVERY_MOMENT=1` tries all moments of a pruning run (some minutes); else those are a sample.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from secateur.checkpoints.folders import is_trained
from secateur.errors import SecateurError, StudyError
from secateur.runs.folder import open_run
from secateur.testing.moments import left_by_kills, refusing
from secateur.verbs.export import export
from secateur.verbs.front import front
from secateur.verbs.report import report
from secateur.verbs.resume import resume
from secateur.verbs.train import train

pytestmark = pytest.mark.slow

EVERY = bool(os.environ.get("SECATEUR_EVERY_MOMENT"))
DESIGN: dict[str, Any] = {
    "objectives": ["decoder_parameters", "macs"],
    "trials": 3,
    "vocabulary": 270,
    "most_measured": 1,
    "seconds": 0.005,
}
PRUNE: dict[str, Any] = {"epochs": 1.0, "order_epochs": 1.0, "batch_size": 32, "trials": 3, "polish_at": ["50%"]}
TRAIN: dict[str, Any] = {
    "length": 12,
    "batch_size": 4,
    "steps": 4,
    "evaluations": 2,
    "checkpoints": 2,
    "device": "cpu",
    "progress": False,
}
REFUSALS = [(errno.ENOSPC, "the disk is full|no space left"), (errno.EROFS, "read-only|cannot be written")]


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Nothing is measured for long, the page is short, and garbage is collected quickly."""
    import secateur.runs.design.stages as design
    import secateur.runs.prune.measuring as prune

    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prune, "SECONDS", 0.005)
        patch.setattr(design, "TURNS", 1)
        patch.setattr("secateur.report.render", lambda data: f"<p>{len(data.front)} on the front</p>")
        yield


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text("the cat sat on the mat\nand the dog sat on the log\n" * 40, encoding="utf-8")
    return file


def sample(moments: list[Any], count: int) -> list[Any]:
    """`count` of them, evenly spaced; all where all are asked for."""
    if EVERY or len(moments) <= count:
        return moments
    return [moments[round(i * (len(moments) - 1) / (count - 1))] for i in range(count)]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def outcome(folder: Path) -> Any:
    """What a finished run has, but for its times."""
    run = open_run(folder)
    try:
        trials = [(t.id, t.origin, t.key, t.status, dict(t.values), dict(t.details)) for t in run.trials]
        known = {name: run.store.get_meta(name) for name in ("settings", "unpruned", "unpruned_test", "tests", "task")}
        stages = [(row.name, row.status) for row in run.store.stages()]
        settings = (folder / "config.yaml").read_text()
        return trials, known, stages, settings, (folder / "report.html").read_text(), files(folder)
    finally:
        run.close()


def go_on(folder: Path, again: Callable[[Path], Any]) -> None:
    """What a user would do: resume; where that is not a run, the command again. The two never point at each other."""
    try:
        front(folder)
        resume(folder, progress=False).close()
    except StudyError as error:
        if folder.exists() and "is not a run: it has no config.yaml" not in str(error):
            raise
        again(folder).close()
        return
    with pytest.raises(StudyError, match=r"already exists\. Continue it"):
        again(folder)


def survived(moments: list[tuple[str, Path]], check: Callable[[Path], None]) -> None:
    """Every moment passes the check; all that do not are named."""
    failed = []
    for moment, folder in moments:
        try:
            check(folder)
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{moment}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    assert not failed, f"{len(failed)} of {len(moments)} moments:\n" + "\n".join(failed[:20])


def killed(whole: Path, to: Path, again: Callable[[Path], Any], count: int) -> None:
    again(whole).close()
    expected = outcome(whole)
    moments = left_by_kills(to / "run", to / "kills", lambda: again(to / "run").close())
    assert len(moments) > 20

    def check(folder: Path) -> None:
        go_on(folder, again)
        assert outcome(folder) == expected

    survived(sample(moments, count), check)


def test_design_is_killed(quick_design: Any, tmp_path: Path) -> None:
    killed(tmp_path / "whole", tmp_path, lambda to: quick_design(to, **DESIGN), 1000)


def test_prune_is_killed(quick_prune: Any, tmp_path: Path) -> None:
    killed(tmp_path / "whole", tmp_path, lambda to: quick_prune(to, **PRUNE), 4)


@pytest.fixture(scope="module")
def searched(quick_design: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of `secateur design`, to be read only."""
    folder = tmp_path_factory.mktemp("runs") / "design"
    quick_design(folder, **DESIGN).close()
    return folder


def trained(folder: Path) -> Any:
    """What a finished training has, but for its times."""
    said = json.loads((folder / "curve.json").read_text())
    del said["seconds"]
    written = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in ("curve.json", "README.md")}
    return said, written, files(folder)


def train_on(folder: Path, begin: Callable[[Path], Any]) -> None:
    """The same command again: it goes on, or says that nothing is left to do, and leaves nothing over."""
    if not folder.exists() or not is_trained(folder) or (folder / "training").exists():
        begin(folder)
    else:
        with pytest.raises(StudyError, match="contains no unfinished training"):
            begin(folder)


def test_train_is_killed(searched: Path, text: Path, tmp_path: Path) -> None:
    key = front(searched).members[0].key

    def begin(to: Path) -> Any:
        return train(searched, text=text, to=to, key=key, **TRAIN)

    begin(tmp_path / "whole")
    expected = trained(tmp_path / "whole")
    moments = left_by_kills(tmp_path / "model", tmp_path / "kills", lambda: begin(tmp_path / "model"))
    assert any("half of training/" in moment for moment, _ in moments)

    def check(folder: Path) -> None:
        train_on(folder, begin)
        assert trained(folder) == expected

    survived(sample(moments, 10), check)


def test_export_is_killed(pruned: Path, tmp_path: Path) -> None:
    def write(to: Path) -> Any:
        return export(pruned, to=to, under=["body_parameters=90%"])

    expected = write(tmp_path / "whole").files
    place = tmp_path / "exports"
    place.mkdir()
    moments = left_by_kills(place, tmp_path / "kills", lambda: write(place / "small"))

    def check(folder: Path) -> None:
        assert not (folder / "small").exists()
        assert write(folder / "small").files == expected
        assert [path.name for path in folder.iterdir()] == ["small"]

    survived(sample(moments, 5), check)


def test_the_forms_of_a_trained_network_are_killed(
    searched: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forms(model: Any, folder: Path, **_: Any) -> Any:
        for name in ("model.onnx", "model.int8.onnx"):
            (folder / name).write_text(name)
        return {"onnx": 0.0}, None

    folder = tmp_path / "model"
    train(searched, text=text, to=folder, key=front(searched).members[0].key, **TRAIN)
    monkeypatch.setattr("secateur.export.trained.write_forms", forms)
    monkeypatch.setattr("secateur.export.trained._judged", lambda *_: None)
    expected = sorted([*files(folder), "model.onnx", "model.int8.onnx"])
    moments = left_by_kills(folder, tmp_path / "kills", lambda: export(folder, onnx=True))

    def check(copy: Path) -> None:
        export(copy, onnx=True)
        assert files(copy) == expected

    survived(moments, check)


def test_report_and_resume_are_killed(searched: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(searched, tmp_path / "run"))
    expected = outcome(folder)

    def again() -> None:
        report(folder).show()
        resume(folder, progress=False).close()

    def check(copy: Path) -> None:
        assert len(front(copy).members) > 0
        resume(copy, progress=False).close()
        assert outcome(copy) == expected

    survived(left_by_kills(folder, tmp_path / "kills", again), check)


# A disk that refuses


def refused(again: Callable[[Path], Any], to: Path, count: int, check: Callable[[Path], None]) -> None:
    """The disk refuses from some operation on: one line says so. When it takes writes again, all goes on."""
    with refusing(to / "counted" / "run", 10**9, 0) as names:
        again(to / "counted" / "run")
    for code, said in REFUSALS:
        moments = [(f"{errno.errorcode[code]} at {name}", to / f"{code}-{at}" / "run") for at, name in enumerate(names)]

        def tried(folder: Path, code: int = code, said: str = said) -> None:
            at = int(folder.parent.name.split("-")[1])
            folder.parent.mkdir()
            error: SecateurError | None = None
            with refusing(folder, at, code):
                try:
                    again(folder)
                except SecateurError as raised:
                    error = raised
            assert error is None or (re.search(said, str(error).lower()) and "\n" not in str(error)), error
            check(folder)

        survived(sample(moments, count), tried)


@pytest.mark.parametrize(("job", "settings", "count"), [("quick_design", DESIGN, 5), ("quick_prune", PRUNE, 2)])
def test_a_disk_refuses_a_run(
    job: str, settings: dict[str, Any], count: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    quick = request.getfixturevalue(job)

    def again(to: Path) -> Any:
        run = quick(to, **settings)
        run.close()
        return run

    again(tmp_path / "whole")
    expected = outcome(tmp_path / "whole")

    def check(folder: Path) -> None:
        go_on(folder, again)
        assert outcome(folder) == expected

    refused(again, tmp_path, count, check)


def test_a_disk_refuses_a_training(searched: Path, text: Path, tmp_path: Path) -> None:
    key = front(searched).members[0].key

    def begin(to: Path) -> Any:
        return train(searched, text=text, to=to, key=key, **TRAIN)

    begin(tmp_path / "whole")
    expected = trained(tmp_path / "whole")

    def check(folder: Path) -> None:
        train_on(folder, begin)
        assert trained(folder) == expected

    refused(begin, tmp_path, 3, check)
