"""Cells of the grid: each is a folder with a run of `secateur prune` and ends in rows, once."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.architecture import digest
from secateur.catalogue import find, find_searcher
from secateur.errors import BoundError
from secateur.runs.bench.pruning_settings import called_as
from secateur.runs.bench.spending import passes_over_data, seconds_before
from secateur.runs.folder import open_run
from secateur.runs.settings import FILE
from secateur.study import Journal, Stop, Study
from secateur.study.memory_store import MemoryStore
from secateur.trial import Trial, level
from secateur.writing import remove, write_whole

RUN, ROWS = "run", "rows.json"
#: Stages that say what was found and find nothing: they do not count as a method's time.
TELLING = ("measure", "report")
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A run of `secateur prune` with these settings, and the rows that it ends in: see the subclasses."""

    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of its folder: what a reader knows it by, and a digest of all that it depends on."""
        model, task = (called_as(str(self.given[name])) for name in ("model", "data"))
        return "-".join([model, task, self.words, f"seed{self.given['seed']}", digest(self.identity)[:8]])

    @property
    def words(self) -> str:
        return str(self.given["method"])

    @property
    def identity(self) -> str:
        known = {name: str(value) if isinstance(value, Path) else value for name, value in self.given.items()}
        return json.dumps([type(self).__name__, known], sort_keys=True)

    @property
    def facts(self) -> Row:
        """What every row of the cell says."""
        named = {"model": called_as(str(self.given["model"])), "task": called_as(str(self.given["data"]))}
        return {**named, "method": self.given["method"], "seed": self.given["seed"]}

    def done(self, folder: Path) -> bool:
        return (folder / ROWS).is_file()

    def rows(self, folder: Path) -> list[Row]:
        """What it ended in."""
        found: list[Row] = json.loads((folder / ROWS).read_text(encoding="utf-8"))
        return found

    def work(self, folder: Path) -> None:
        """Go on to the end: the run, then the rows."""
        run = self.run(folder)
        try:
            self._write(folder / ROWS, self.found(run))
        finally:
            run.close()

    def run(self, folder: Path) -> Any:
        """The finished run: gone through, gone on with, or as it is. One whose networks were not kept is made anew."""
        to = folder / RUN
        if (to / FILE).is_file():
            opened = open_run(to)
            ended = Journal(opened.store).done("report")
            if ended and any(to.rglob("*.safetensors")):
                return opened
            opened.close()
            if not ended:
                return find("verb", "resume")(to, progress=False)
            remove(to)
        # The same is given to all methods: a run has what it can use.
        given = find("run", "prune").settings.effective(self.given)
        return find("verb", "prune")(**given, to=to, progress=False)

    def found(self, run: Any) -> list[Row]:
        raise NotImplementedError

    def _write(self, path: Path, rows: Sequence[Row]) -> None:
        write_whole(json.dumps(rows), path)


@dataclass(frozen=True)
class Trained(Cell):
    """A super-network, and searches of it by its shared weights: `searches` are searchers with their numbers of trials."""

    searches: tuple[tuple[str, int], ...]

    @property
    def words(self) -> str:
        return f"{self.given['space']}-{self.given['strategy']}"

    def done(self, folder: Path) -> bool:
        return all(self._file(folder, *search).is_file() for search in self.searches)

    def rows(self, folder: Path) -> list[Row]:
        return [row for search in self.searches for row in json.loads(self._file(folder, *search).read_text(encoding="utf-8"))]

    def work(self, folder: Path) -> None:
        run = self.run(folder)
        try:
            for searcher, trials in self.searches:
                file = self._file(folder, searcher, trials)
                if not file.is_file():
                    self._write(file, searched(run, searcher, trials))
        finally:
            run.close()

    @staticmethod
    def _file(folder: Path, searcher: str, trials: int) -> Path:
        return folder / f"{searcher}-{trials}.json"


@dataclass(frozen=True)
class Searched(Cell):
    """Standard search: every candidate is trained by itself. Its rows are its trials, those at the largest budget."""

    @property
    def words(self) -> str:
        return f"{self.given['method']}-{self.given['searcher']}"

    def found(self, run: Any) -> list[Row]:
        before, spent, rows = seconds_before(run, "search"), 0.0, []
        asked = [t for t in run.trials if t.id is not None]
        most = max((level(t.budget) for t in asked), default=0.0)
        for number, trial in enumerate(asked, 1):
            spent += trial.seconds or 0.0
            if trial.complete and level(trial.budget) == most:
                rows.append(_point(trial, number, spent, searcher=self.given["searcher"], before=before))
        return rows


@dataclass(frozen=True)
class Pruned(Cell):
    """A method from beginning to end: its best network at each level, its front, and the unpruned network, on test data."""

    levels: tuple[str, ...]

    @property
    def identity(self) -> str:
        return json.dumps([super().identity, self.levels])

    def found(self, run: Any) -> list[Row]:
        front = run.front
        spent = {"seconds": seconds_before(run, *TELLING), "passes": passes_over_data(run)}
        whole = {"kind": "unpruned", **_tested(run.unpruned, run.unpruned_test), **spent}
        chance = {split: 1 - found["error"] for split, found in (run.chance or {}).items()}
        rows = [{**whole, "chance": chance.get("test"), "metric": run.metric}]
        rows += [{"kind": "front", "key": m.key, **_tested(m.values, m.test), **self._share(run, m)} for m in front]
        for at in self.levels:
            try:
                best = front.best(under={"body_parameters": at})
            except BoundError:
                continue
            row = {"kind": "level", "level": at, "key": best.key, "weights": best.weights}
            rows.append({**row, **_tested(best.values, best.test), **self._share(run, best)})
        return rows

    @staticmethod
    def _share(run: Any, member: Any) -> Row:
        return {"share": member.values["body_parameters"] / run.unpruned["body_parameters"]}


@dataclass(frozen=True)
class Sizes(Cell):
    """How large the networks are that are drawn from a space: nothing is trained."""

    count: int

    @property
    def words(self) -> str:
        return f"sizes-{self.given['space']}-{self.count}"

    def work(self, folder: Path) -> None:
        from secateur.checkpoints.pretrained import load_model
        from secateur.checkpoints.processors import processor_of
        from secateur.rng import generator
        from secateur.supernet import Supernet

        settings = find("run", "prune").settings
        settings = settings.resolve(settings.effective(self.given))
        data = settings.task_data(processor_of(settings.model, settings.kind))
        supernet = Supernet(load_model(settings.model, data, seed=0, device="cpu"))
        space = find("space", str(settings.space))(supernet.shape, **settings.limits())
        whole = supernet.parameters(supernet.whole)
        drawn = space.sample_many(self.count, generator(settings.seed, "sizes"))
        shares = [supernet.parameters(space.plan(a)) / whole for a in drawn]
        self._write(folder / ROWS, [{"kind": "size", "share": share} for share in shares])


def searched(run: Any, searcher: str, trials: int) -> list[Row]:
    """What a searcher finds on the shared weights of a run's super-network: with the seconds since the search began, and those
    of all that came before it."""
    from secateur.anatomy.inputs import longest_text
    from secateur.devices.device import resolve_device
    from secateur.estimators.cost import Cost
    from secateur.estimators.shared_weights import SharedWeightsError

    c, supernet, space = run.configuration, run.supernet, run.space
    supernet.model.to(resolve_device(c.device))
    data = c.task_data(run.tokenizer)
    kind = find_searcher(searcher, "prune")
    chosen = kind(space, run.objectives, seed=c.seed, take_extra=False, **kind.sizes(trials))
    estimators = [
        Cost(supernet, space, length=min(c.latency_length, longest_text(supernet.model.config))),
        SharedWeightsError(supernet, space, data, batch_size=c.evaluation_batch, depths=False),
    ]
    before, began = seconds_before(run, "search"), time.perf_counter()
    rows: list[Row] = []
    ended = 0

    def on_trial(trial: Trial) -> None:
        nonlocal ended
        ended += 1
        if trial.complete:
            rows.append(_point(trial, ended, time.perf_counter() - began, searcher=searcher, of=trials, before=before))

    Study(MemoryStore(), chosen, estimators, run.objectives, on_trial=on_trial).run(Stop(trials=trials))
    return rows


def _point(trial: Trial, number: int, seconds: float, **more: Any) -> Row:
    values = {name: trial.values.get(name) for name in ("error", "parameters", "body_parameters", "macs")}
    return {"kind": "trial", **more, "trial": number, "seconds": seconds, "key": trial.key, **values}


def _tested(values: Mapping[str, float], test: Mapping[str, float] | None) -> Row:
    found = {name: values.get(name) for name in ("error", "parameters", "body_parameters", "macs", "latency")}
    return {**found, "test_error": test["error"] if test else None}
