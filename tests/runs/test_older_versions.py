"""A run that the version before made: it opens, shows its front and its report, and goes on. What is newer is said."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from secateur.errors import Stopped, StudyError
from secateur.estimators.together import Together
from secateur.runs.folder import open_run
from secateur.verbs.front import front
from secateur.verbs.report import report
from secateur.verbs.resume import resume

pytestmark = [pytest.mark.usefixtures("brief"), pytest.mark.slow]

#: A design run without latencies: all of it is counted or computed, so that nothing differs between two runs.
COUNTED: dict[str, Any] = {"objectives": ["decoder_parameters", "memory", "parameters"], "trials": 20}


def as_before(folder: Path) -> Path:
    """Turn a run into what the version before has written: no such settings, no such columns, schema 1."""
    file = folder / "config.yaml"
    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    new = {"store", "workers", "method"}
    kept = {name: value for name, value in settings.items() if name not in new}
    file.write_text(yaml.safe_dump(kept, sort_keys=False), encoding="utf-8")
    with closing(sqlite3.connect(folder / "study.db")) as database, database:
        for column in ("continues", "curve", "seconds", "owner", "lease"):
            database.execute(f"ALTER TABLE trials DROP COLUMN {column}")
        assert database.execute("UPDATE meta SET value = '1' WHERE key = 'schema'").rowcount == 1
    return folder


def story(folder: Path) -> Any:
    run = open_run(folder)
    trials = [(t.id, t.key, str(t.status), dict(t.values), t.origin, t.told) for t in run.trials]
    run.close()
    return trials


def stopped_after(trials: int, patch: pytest.MonkeyPatch) -> None:
    """Ctrl-C when so many trials were evaluated."""
    real, calls = Together.outcome, 0

    def outcome(self: Together, *given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > trials:
            raise KeyboardInterrupt
        return real(self, *given)

    patch.setattr(Together, "outcome", outcome)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory, quick_design: Any) -> Path:
    folder = tmp_path_factory.mktemp("counted") / "run"
    quick_design(folder, **COUNTED).close()
    return folder


@pytest.mark.parametrize("verb", ["prune", "design"])
def test_a_finished_run_opens_and_shows_what_it_found(verb: str, pruned: Path, counted: Path, tmp_path: Path) -> None:
    made = {"prune": pruned, "design": counted}[verb]
    folder = as_before(Path(shutil.copytree(made, tmp_path / "run")))
    run = open_run(folder)
    assert (run.configuration.store, run.configuration.workers, run.configuration.seed) == (None, 1, 0)
    assert [m.values for m in front(folder)] == [m.values for m in front(made)]
    assert (run.trials[0].curve, run.trials[0].seconds, run.trials[0].continues) == ((), None, None)
    run.close()
    (folder / "report.html").unlink()
    assert report(folder).write().is_file()
    resume(folder, progress=False).close()
    assert story(folder) == story(made)


@pytest.mark.parametrize("verb", ["prune", "design"])
def test_a_stopped_run_goes_on_as_if_it_had_not_been(
    verb: str, pruned: Path, counted: Path, quick_prune: Any, quick_design: Any, tmp_path: Path
) -> None:
    make, changes, made = {"prune": (quick_prune, {}, pruned), "design": (quick_design, COUNTED, counted)}[verb]
    with pytest.MonkeyPatch.context() as patch:
        # the evaluation of the unpruned network is no trial
        stopped_after(3, patch)
        with pytest.raises(Stopped, match="secateur resume"):
            make(tmp_path / "run", **changes)
    folder = as_before(tmp_path / "run")
    ended = [t for t in story(folder) if t[2] != "running"]
    assert 3 <= len(ended) < len(story(made))
    resume(folder, progress=False).close()
    assert story(folder) == story(made)


def test_a_setting_of_a_later_version_is_said(counted: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(counted, tmp_path / "run"))
    with (folder / "config.yaml").open("a", encoding="utf-8") as file:
        file.write("clairvoyance: 3\n")
    with pytest.raises(StudyError, match=r"does not know: clairvoyance\. Use the version that wrote it"):
        open_run(folder)


def test_a_store_of_a_later_version_is_said_and_left_alone(counted: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(counted, tmp_path / "run"))
    with closing(sqlite3.connect(folder / "study.db")) as database, database:
        database.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    before = (folder / "study.db").read_bytes()
    with pytest.raises(StudyError, match="99"):
        open_run(folder)
    assert (folder / "study.db").read_bytes() == before
