"""The one loop over the stages of a run, and the search that all runs share; on a run without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from secateur import catalogue
from secateur.errors import BoundError, ConfigurationError, MissingExtraError
from secateur.estimators.base import Estimator, Evaluation
from secateur.objectives import Objective
from secateur.runs.folder import RunFolder
from secateur.runs.progress import Progress
from secateur.runs.settings import SearchRunSettings
from secateur.runs.stages import SearchWork, Stage
from secateur.runs.starting import go_on, start
from secateur.runs.state import state_of
from secateur.search import Random
from secateur.settings import MOST_TRIALS, option
from secateur.spaces.pruning import Shape, Small
from secateur.study import Front, Journal

SPACE = Small(Shape(layers=2, heads=2, units=3))


@dataclass(frozen=True, kw_only=True)
class ToySettings(SearchRunSettings):
    verb: ClassVar[str] = "toy"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}
    objectives: list[str] = option(["error", "macs"])
    searcher: str = option("random")
    trials: int = option(4)


class ToyRun(RunFolder):
    settings = ToySettings
    about = "a toy"
    space = SPACE

    @property
    def front(self) -> Front[Any]:
        return Front.of(self.trials, self.objectives, self.unpruned)


class Sizes(Estimator):
    """Made-up values from the choices alone."""

    yields = ("error", "macs")
    cost: ClassVar[int] = 0
    fingerprint = "toy"

    def evaluate(self, architectures: Any, budget: float | None = None) -> list[Evaluation]:
        sizes = [sum(p.heads.count + p.units.count for p in SPACE.plan(a).layers) for a in architectures]
        return [Evaluation({"error": 1 / (1 + size), "macs": float(size)}) for size in sizes]


class ToyWork(SearchWork):
    """Two stages of its own around the search. `done` tells which began, across runs of the test."""

    done: ClassVar[list[str]] = []
    fails: ClassVar[str | None] = None

    def prepare(self) -> None:
        self.done.append("prepare")
        self.check_workers([o.name for o in self._run.objectives])

    def stages(self) -> list[Stage]:
        return [Stage("first", self.first), self.search_stage(), Stage("last", self.last)]

    def searcher(self) -> Any:
        return Random(SPACE, self._run.objectives, seed=self.c.seed)

    def estimators(self) -> list[Estimator]:
        return [Sizes()]

    def first(self) -> None:
        self._do("first")

    def last(self) -> None:
        self._do("last")

    def tidy(self) -> None:
        self.done.append("tidy")

    def _do(self, name: str) -> None:
        self.done.append(name)
        if self.fails == name:
            raise BoundError(f"{name} failed")


class ToyReport:
    def __init__(self, run: RunFolder, ending: bool = False) -> None:
        self.run = run

    def write(self) -> None:
        raise MissingExtraError("plotly", "report")


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verb `toy` is in the table of names."""
    toys = {"run": ToyRun, "work": ToyWork, "report": ToyReport}
    real = catalogue.find

    def find(kind: str, name: str, serving: str | None = None) -> Any:
        return toys[kind] if name == "toy" else real(kind, name, serving)

    for module in ("folder", "starting", "stages"):
        monkeypatch.setattr(f"secateur.runs.{module}.find", find)
    monkeypatch.setattr(ToyWork, "done", [])
    monkeypatch.setattr(ToyWork, "fails", None)


def begin(folder: Path, **changes: Any) -> Any:
    return start(ToySettings.resolve(changes), folder, Progress(False))


def test_stages_in_order_each_once(tmp_path: Path) -> None:
    run = begin(tmp_path / "run")
    assert ToyWork.done == ["prepare", "first", "last", "tidy"]
    assert [(row.name, row.status) for row in Journal(run.store).rows()] == [
        ("first", "done"),
        ("search", "done"),
        ("last", "done"),
    ]
    assert sum(t.complete for t in run.trials) == 4
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [row["stage"] for row in rows if row["event"] == "stage"] == ["first", "search", "last"]
    assert rows[-1]["event"] == "finished"


def test_a_run_goes_on_at_the_first_stage_that_is_not_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyWork, "fails", "last")
    with pytest.raises(BoundError, match="last failed"):
        begin(tmp_path / "run")
    assert "tidy" not in ToyWork.done
    assert Journal(ToyRun(tmp_path / "run").store).rows()[-1].status == "stopped"
    monkeypatch.setattr(ToyWork, "fails", None)
    ToyWork.done.clear()
    go_on(tmp_path / "run", Progress(False))
    assert ToyWork.done == ["prepare", "last", "tidy"]


def test_what_the_search_could_not_find_is_said(tmp_path: Path) -> None:
    with pytest.raises(BoundError, match=r"none of 4 trials met `error<=0`\. The nearest had error"):
        begin(tmp_path / "bound", objectives=["error<=0", "macs"])
    run = begin(tmp_path / "all", trials=100)
    assert run.notes == [f"The searcher found nothing new after {len(run.trials)} of 100 trials and stopped."]
    assert len(run.trials) == len({t.key for t in run.trials}) < 100


def test_a_number_of_trials_that_nobody_gave_is_not_said(tmp_path: Path) -> None:
    run = begin(tmp_path / "run", trials=MOST_TRIALS)
    assert run.notes == [f"The searcher found nothing new after {len(run.trials)} trials and stopped."]
    state = state_of(run)
    assert (state.trials, state.wanted) == (len(run.trials), 0)
    with pytest.raises(BoundError, match=rf"none of {len(run.trials)} trials met"):
        begin(tmp_path / "bound", objectives=["error<=0", "macs"], trials=MOST_TRIALS)


def test_notes_are_kept_once(tmp_path: Path) -> None:
    run = begin(tmp_path / "run")
    work = ToyWork(run, Progress(False))
    work.note("a")
    work.note("b")
    work.note("a")
    assert run.notes == ["a", "b"]


def test_a_report_that_cannot_be_drawn_is_a_note(tmp_path: Path) -> None:
    run = begin(tmp_path / "run")
    ToyWork(run, Progress(False)).write_report()
    (note,) = run.notes
    assert note.startswith("No report was written: `plotly` is not installed")
    assert note.endswith(f"secateur report {tmp_path / 'run'}")


def test_workers_would_be_measured_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`workers` must be 1 when latency is measured"):
        begin(tmp_path / "run", workers=2, objectives=["error", "latency"])
    assert not (tmp_path / "run").exists()


def test_what_is_asked_is_said_as_the_user_wrote_it(tmp_path: Path) -> None:
    run = begin(tmp_path / "run", objectives=["error", "macs<=0.1k"])
    assert ToyWork(run, Progress(False)).asked() == [
        (Objective.parse("error"), "error"),
        (Objective.parse("macs<=0.1k"), "macs<=0.1k"),
    ]
